"""What moved between ranks: the matrix rank by rank, and all links of one transport together."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.communication.types import Link, Transport
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.typed import typed

_MOVED = ("payload", "reduce")
_TRANSPORT = "transport"


def moved_between_ranks(transfers: pl.LazyFrame) -> pl.LazyFrame:
    """Transfers of data, waits left out, of which both ends are known."""
    moved = pl.col("kind").cast(pl.String).is_in(_MOVED) & pl.col("peer").is_not_null()
    return transfers.filter(moved).with_columns(pl.col(_TRANSPORT).cast(pl.String))


def matrix_of(transfers: pl.LazyFrame) -> pl.DataFrame:
    """Rows of ``Link``: bytes over time, never a mean of rates."""
    rows = (
        moved_between_ranks(transfers)
        .group_by("rank", "peer", _TRANSPORT)
        .agg(pl.col("bytes", "time_ns").sum(), packets=_sum_if_any("packets"))
        .sort("rank", "peer", _TRANSPORT)
        .collect()
    )
    return with_rate(rows).select(Link.__struct_fields__)


def links_of(matrix: pl.DataFrame) -> list[Transport]:
    """Per transport, the link with the lowest rate named; what a rank copies to itself is no link."""
    links = matrix.filter(pl.col("rank") != pl.col("peer")).sort("gb_per_s", "rank", "peer", nulls_last=True)
    slowest = {f"slowest_{name}": pl.col(name).first() for name in ("gb_per_s", "rank", "peer")}
    rows = links.group_by(_TRANSPORT, maintain_order=True).agg(
        pl.col("bytes").sum(),
        links=pl.len(),
        time_ns=(pl.col("time_us") * 1000).round().cast(pl.Int64).sum(),
        packets=_sum_if_any("packets"),
        **slowest,
    )
    fields = Transport.__struct_fields__
    return typed(with_rate(rows).sort(_TRANSPORT).select(fields).to_dicts(), list[Transport])


def with_rate(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with their time in microseconds and their bytes over it."""
    rate = pl.when(pl.col("time_ns") > 0).then(pl.col("bytes") / pl.col("time_ns"))
    return rows.with_columns(time_us=in_microseconds(pl.col("time_ns")), gb_per_s=rate)


def _sum_if_any(name: str) -> pl.Expr:
    return pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum())
