"""Blocking calls by name and step: how often, how long, and what they cost."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.idle import SYNC, RankIdle
from stepscope.analysis.launches.types import Sync
from stepscope.arrays import NONE, Int64s
from stepscope.facts.launches import launches_facts


def sync_rows(rank: int, idle: RankIdle, marks: pl.DataFrame) -> list[Sync]:
    """Per step and name; ``idle_us`` is what the calls cost in the gaps that began under them or behind them."""
    calls, gaps = idle.calls, idle.gaps
    cost = np.zeros(len(calls.slice), np.int64)
    # A gap that begins after a call is charged to the last call before it that had to wait: one that finds the device
    # done with what it asks for returns at once.
    waited = np.flatnonzero(calls.end - calls.start >= launches_facts().syncs.least_wait_us * 1000)
    of_these = waited if len(waited) else np.arange(len(calls.start))
    last = np.searchsorted(calls.start[of_these], gaps.start, side="right") - 1
    before = of_these[np.maximum(last, 0)] if len(of_these) else last
    call = np.where(gaps.blocked != NONE, gaps.blocked, np.where(last >= 0, before, NONE))
    held = call != NONE
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
