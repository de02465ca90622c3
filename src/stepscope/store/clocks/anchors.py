"""Calls that clocks can be held to: all their members end together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.facts.clocks import clocks_facts
from stepscope.store.call_numbers import with_call_numbers

#: How much data a call moves: the more, the further its ends lie apart.
SMALL, MEDIUM, LARGE = 0, 1, 2
_COLUMNS: Final = ("rank", "slice", "group", "seq", "kind", "step", "start_ns", "end_ns", "bytes")


def anchors(collectives: Sequence[pl.LazyFrame], domain_of: pl.DataFrame) -> pl.DataFrame:
    """``call, rank, domain, start_ns, end_ns, kind, size`` of calls between domains: the smaller, the better.

    ``domain_of`` tells for each ``rank`` the ``domain`` that its clock belongs to. ``collectives`` come in pieces, one
    of which is looked at after the other.
    """
    known = [_common_ends(piece, domain_of) for piece in collectives]
    # First which groups: most calls of a large job stay within a host, and those need not be in memory.
    seen = pl.concat([piece.select("group", "domain").unique().collect(engine="streaming") for piece in known]).unique()
    groups = seen.group_by("group").len().filter(pl.col("len") > 1).lazy()
    calls = pl.concat(
        [piece.join(groups, on="group", how="semi", nulls_equal=True).collect(engine="streaming") for piece in known]
    )
    if calls.is_empty():
        return calls.with_columns(call=pl.lit(0, pl.Int64), size=pl.lit(LARGE, pl.Int8))
    calls = with_call_numbers(calls).filter(pl.col("domain").n_unique().over("call") > 1)
    return _best_of_each_group(calls.with_columns(size=_size()))


def _common_ends(collectives: pl.LazyFrame, domain_of: pl.DataFrame) -> pl.LazyFrame:
    """Calls whose members end together, with their clocks. Their order does not matter here."""
    return (
        collectives.select(pl.col("group", "kind").cast(pl.String), *(set(_COLUMNS) - {"group", "kind"}))
        .filter(pl.col("kind").is_in(clocks_facts().kinds) & (pl.col("end_ns") > pl.col("start_ns")))
        .join(domain_of.lazy(), on="rank")
    )


def _size() -> pl.Expr:
    facts = clocks_facts()
    moved = pl.col("bytes").max().over("call")
    took = (pl.col("end_ns") - pl.col("start_ns")).min().over("call")
    small = pl.when(moved.is_not_null()).then(moved <= facts.small_bytes).otherwise(took <= facts.small_us * 1000)
    size = pl.when((pl.col("kind") == "barrier") | small).then(SMALL)
    return size.when(took <= facts.medium_us * 1000).then(MEDIUM).otherwise(LARGE).cast(pl.Int8)


def _best_of_each_group(calls: pl.DataFrame) -> pl.DataFrame:
    """Small calls alone where there are enough of them; never more than add something, spread over the window."""
    facts = clocks_facts()
    each = calls.group_by("call").agg(pl.col("group", "size").first(), start_ns=pl.min("start_ns"))
    enough = (pl.col("size") == SMALL).sum().over("group") >= facts.enough_small
    each = each.filter((pl.col("size") == SMALL) | ~enough).sort("group", "size", "start_ns")
    # Every nth of those of a size, so that all of the window is there.
    place, count = (number.over("group", "size") for number in (pl.int_range(pl.len()), pl.len()))
    chosen = (place * facts.most_calls // count) != ((place - 1) * facts.most_calls // count)
    each = each.filter((count <= facts.most_calls) | chosen)
    return calls.join(each.select("call"), on="call", how="semi")
