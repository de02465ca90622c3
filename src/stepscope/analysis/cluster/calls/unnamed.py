"""Whether calls that name no group are calls of all ranks (docs/metrics/cluster.md, "Calls that belong together")."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.facts.clocks import clocks_facts

#: Kinds into which every member puts the same amount.
_EVEN: Final = ("all_reduce", "all_gather", "reduce_scatter")


def are_of_all_ranks(calls: pl.DataFrame, world_size: int) -> bool:
    """Of matched calls without a group: each has all ranks, with the same bytes, and all of them end it together.

    Clocks may differ, but by the same amount at every call. Calls of several groups, taken for one, end apart.
    """
    if calls.is_empty():
        return False
    even = pl.col("kind").is_in(_EVEN)
    bytes_differ = even & (pl.col("bytes").n_unique().over("call") > 1)
    if calls.select(((pl.col("members") != world_size) | bytes_differ).any()).item():
        return False
    facts = clocks_facts()
    shown = calls.with_columns(shown=pl.col("end_ns") - pl.col("end_ns").min().over("call"))
    off = shown.with_columns(off=(pl.col("shown") - pl.col("shown").median().over("rank")).abs())
    took_us = pl.col("took_ns").min() / 1000
    apart = off.group_by("call").agg(
        apart_us=pl.col("off").max() / 1000,
        usual_us=pl.when(took_us <= facts.medium_us).then(facts.floor_medium_us).otherwise(facts.floor_large_us),
    )
    return bool(apart.select((pl.col("apart_us") > pl.col("usual_us")).mean() <= facts.most_unnamed_apart).item())
