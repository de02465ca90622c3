"""How long it took to hand over a batch; first batches, which wait for everything to start, are separate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import polars as pl

from stepscope.analysis.pipeline.observed import Observed
from stepscope.analysis.pipeline.structure import BatchTimes

Part = Literal["get", "push", "total", "interval"]
_PARTS: Final[tuple[Part, ...]] = ("get", "push", "total", "interval")


def batch_times(seen: Observed) -> Iterator[BatchTimes]:
    """One entry per part that was recorded."""
    rows = seen.batches.with_columns(interval_us=pl.col("time_ns").diff() / 1000)
    if rows.is_empty() and not seen.gets.is_empty():
        length = (pl.col("end_ns") - pl.col("start_ns")) / 1000
        rows = seen.gets.select(first=pl.int_range(pl.len()) == 0, get_us=length)
    for part in _PARTS:
        column = f"{part}_us"
        values = (
            rows.filter(~pl.col("first"))[column].drop_nulls()
            if column in rows.columns
            else pl.Series([], dtype=pl.Float64)
        )
        if len(values):
            firsts = rows.filter("first")[column].drop_nulls()
            yield BatchTimes(
                rank=seen.rank,
                part=part,
                count=len(values),
                first_us=firsts[0] if len(firsts) and part != "interval" else None,
                mean_us=_number(values.mean()),
                median_us=_number(values.median()),
                p95_us=_number(values.quantile(0.95, "linear")),
                max_us=_number(values.max()),
            )


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
