"""Calls in which the host waited for the device, and the idle time that began while it waited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import CATEGORIES, NONE, Host
from stepscope.analysis.foundation.launched import running_reach
from stepscope.analysis.launches.idle import HOST, Gaps
from stepscope.analysis.launches.types import Sync
from stepscope.arrays import Int64s

_SYNC: Final = CATEGORIES.index("sync")


@dataclass(frozen=True)
class BlockingCalls:
    """Blocking calls in order of their start. Of calls inside each other (layers of a runtime) only the outermost."""

    slice: Int64s
    start: Int64s
    end: Int64s
    name: pl.Series

    def at(self, moment: Int64s) -> Int64s:
        """Per moment the place of a call that began before it and had not ended, NONE if there is none."""
        if not len(self.start):
            return np.full(len(moment), NONE, np.int64)
        place = np.searchsorted(self.start, moment, side="left") - 1
        reach = np.maximum.accumulate(self.end)
        furthest = np.maximum.accumulate(np.where(self.end == reach, np.arange(len(self.end)), 0))
        found = np.where(place >= 0, furthest[np.maximum(place, 0)], NONE)
        return np.where((found != NONE) & (self.end[found] >= moment), found, NONE)


def blocking_calls(host: Host) -> BlockingCalls:
    """All blocking calls of a rank."""
    places = np.flatnonzero(host.category == _SYNC)
    places = places[np.lexsort((-host.end[places], host.start[places]))]
    order = places[host.end[places] > running_reach(host.thread[places], host.end[places])]
    return BlockingCalls(host.slice[order], host.start[order], host.end[order], host.name[order].cast(pl.String))


def sync_rows(rank: int, calls: BlockingCalls, steps: pl.DataFrame, gaps: Gaps, blocked: Int64s) -> list[Sync]:
    """Per step and name: how often, how long, and the idle time of the device that began under such a call."""
    idle = np.zeros(len(calls.slice), np.int64)
    under = blocked != NONE
    np.add.at(idle, blocked[under], gaps.cause[under, HOST])
    rows = pl.DataFrame(
        {"name": calls.name, "dur": calls.end - calls.start, "idle": idle, "step": at_step(steps, calls.start)}
    )
    found = (
        rows.group_by("step", "name")
        .agg(count=pl.len(), total=pl.col("dur").sum(), most=pl.col("dur").max(), idle=pl.col("idle").sum())
        .sort(pl.col("step"), -pl.col("total"), pl.col("name"), nulls_last=True)
    )
    return [
        Sync(rank, step, name, count, total / 1000, most / 1000, after / 1000)
        for step, name, count, total, most, after in found.iter_rows()
    ]


def at_step(marks: pl.DataFrame, moment: Int64s) -> pl.Series:
    """The step whose mark on the host holds each moment, null outside."""
    start, end, step = (marks[name].to_numpy() for name in ("host_start_ns", "host_end_ns", "step"))
    if not len(start):
        return pl.Series([None] * len(moment), dtype=pl.Int64)
    place = np.maximum(np.searchsorted(start, moment, side="right") - 1, 0)
    inside = (moment >= start[place]) & (moment < end[place])
    return pl.select(pl.when(pl.Series(inside)).then(pl.Series(step[place]))).to_series().cast(pl.Int64)
