"""Blocking calls by name and step: how often, how long, and what they cost."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.idle import SYNC, RankIdle
from stepscope.analysis.launches.types import Sync
from stepscope.arrays import NONE, Int64s


def sync_rows(rank: int, idle: RankIdle, marks: pl.DataFrame) -> list[Sync]:
    """Per step and name; ``idle_us`` is what the calls cost in the gaps that began under them or behind them."""
    calls, gaps = idle.calls, idle.gaps
    cost = np.zeros(len(calls.slice), np.int64)
    # A gap that begins after a call is charged to the last call before it.
    call = np.where(gaps.blocked != NONE, gaps.blocked, np.searchsorted(calls.start, gaps.start, side="right") - 1)
    held = call >= 0
    np.add.at(cost, call[held], gaps.cause[held, SYNC])
    rows = pl.DataFrame(
        {"name": calls.name, "dur": calls.end - calls.start, "idle": cost, "step": at_step(marks, calls.start)}
    )
    by_name = (
        rows.group_by("step", "name")
        .agg(count=pl.len(), total=pl.col("dur").sum(), most=pl.col("dur").max(), idle=pl.col("idle").sum())
        .sort(pl.col("step"), -pl.col("total"), pl.col("name"), nulls_last=True)
    )
    return [
        Sync(rank, step, name, count, total / 1000, most / 1000, after / 1000)
        for step, name, count, total, most, after in by_name.iter_rows()
    ]


def at_step(marks: pl.DataFrame, moment: Int64s) -> pl.Series:
    """The step whose mark on the host holds each moment, null outside."""
    start, end, step = (marks[name].to_numpy() for name in ("host_start_ns", "host_end_ns", "step"))
    if not len(start):
        return pl.Series([None] * len(moment), dtype=pl.Int64)
    position = np.maximum(np.searchsorted(start, moment, side="right") - 1, 0)
    inside = (moment >= start[position]) & (moment < end[position])
    return pl.select(pl.when(pl.Series(inside)).then(pl.Series(step[position]))).to_series().cast(pl.Int64)
