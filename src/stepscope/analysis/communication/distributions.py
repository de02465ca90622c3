"""How long calls took and how large packets were, counted in steps of two: 1 to 2, 2 to 4, 4 to 8."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.communication.call_times import CALLED
from stepscope.analysis.communication.links import moved_between_ranks, with_rate
from stepscope.analysis.communication.types import DurationBin, PacketSize
from stepscope.typed import typed


def durations_of(calls: pl.DataFrame) -> list[DurationBin]:
    """Calls by operation and length, from the shortest to the longest; what no call falls into in between counts 0."""
    took_us = pl.col("took") // 1000
    rows = (
        _with_empty(calls.filter(pl.col("took") >= 0).group_by(*CALLED, low=_low(took_us)).agg(count=pl.len()))
        .sort(*CALLED, "low")
        .with_columns(from_us=pl.col("low").cast(pl.Float64), to_us=_high().cast(pl.Float64))
    )
    return typed(rows.select(DurationBin.__struct_fields__).to_dicts(), list[DurationBin])


def _with_empty(counted: pl.DataFrame) -> pl.DataFrame:
    """The same with a row for each power of two between the smallest and the largest ``low`` of an operation."""
    ends = counted.group_by(CALLED).agg(smallest=pl.col("low").min(), largest=pl.col("low").max())
    powers = counted.select(low=pl.col("low").max()).to_series().fill_null(0).item().bit_length()
    lows = pl.DataFrame({"low": [0, *(1 << power for power in range(powers))]}, schema={"low": pl.Int64})
    between = pl.col("low").is_between(pl.col("smallest"), pl.col("largest"))
    return (
        ends.join(lows, how="cross")
        .filter(between)
        .join(counted, on=[*CALLED, "low"], how="left", nulls_equal=True)
        .select(*CALLED, "low", pl.col("count").fill_null(0))
    )


def packets_of(transfers: pl.LazyFrame) -> list[PacketSize]:
    """Packets between ranks by transport and size; transfers that do not tell their packets are left out."""
    known = pl.col("bytes").is_not_null() & (pl.col("packets") > 0) & (pl.col("rank") != pl.col("peer"))
    rows = (
        moved_between_ranks(transfers)
        .filter(known)
        .group_by("transport", low=_low(pl.col("bytes") // pl.col("packets")))
        .agg(pl.col("packets", "bytes", "time_ns").sum())
        .sort("transport", "low")
        .collect()
        .with_columns(from_bytes=pl.col("low"), to_bytes=_high())
    )
    return typed(with_rate(rows).select(PacketSize.__struct_fields__).to_dicts(), list[PacketSize])


def _low(value: pl.Expr) -> pl.Expr:
    """The largest power of two that is not larger; 0 for what is below 1."""
    # A double holds every power of two exactly, and the logarithm of a number just below one may round up to it.
    power = pl.lit(2, pl.Int64).pow(value.clip(1).log(2).floor().cast(pl.Int64))
    exact = pl.when(power > value).then(power // 2).otherwise(power)
    return pl.when(value < 1).then(0).otherwise(exact)


def _high() -> pl.Expr:
    return pl.when(pl.col("low") == 0).then(1).otherwise(pl.col("low") * 2)
