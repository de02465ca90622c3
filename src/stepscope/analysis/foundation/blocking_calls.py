"""Calls in which the host waits for the device, and what they cost it in idle time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import Host
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.launched import running_reach
from stepscope.arrays import NONE, Int64s


@dataclass(frozen=True)
class BlockingCalls:
    """Blocking calls in order of their start. Of calls inside each other (layers of a runtime) only the outermost."""

    slice: Int64s
    start: Int64s
    end: Int64s
    name: pl.Series
    thread: Int64s

    def at(self, moment: Int64s) -> Int64s:
        """Per moment the position of a call that began before it and had not ended, NONE if there is none."""
        if not len(self.start):
            return np.full(len(moment), NONE, np.int64)
        position = np.searchsorted(self.start, moment, side="left") - 1
        reach = np.maximum.accumulate(self.end)
        furthest = np.maximum.accumulate(np.where(self.end == reach, np.arange(len(self.end)), 0))
        call = np.where(position >= 0, furthest[np.maximum(position, 0)], NONE)
        return np.where((call != NONE) & (self.end[call] >= moment), call, NONE)

    def return_lag(self, call: Int64s, gap_start: Int64s, gap_end: Int64s) -> Int64s:
        """How much later than the device ran dry, at the start of a gap, the call returned that held the host then."""
        if not len(self.start):
            return np.zeros(len(gap_start), np.int64)
        return np.where(call != NONE, np.clip(self.end[call], gap_start, gap_end) - gap_start, 0)

    def held_between(self, threads: Int64s, since: Int64s, until: Int64s) -> Int64s:
        """How long calls of some threads held the host in each window."""
        own = np.isin(self.thread, threads)
        return union(self.start[own], self.end[own]).covered_within(since, until)


def held_up(dispatch: Int64s, held: Int64s, period: Int64s) -> Int64s:
    """How much of the launching in each gap the host could have done while blocking calls held it.

    Without the calls the host would be ahead by all that they held it, less what it has made use of since: a gap in
    which it launches shrinks by that much. A step takes over from the step before it, and no more: a host is
    hardly ever further ahead.
    """
    cost = np.zeros(len(dispatch), np.int64)
    borders = np.append(np.flatnonzero(np.diff(period, prepend=-1)), len(period)).tolist()
    left = 0
    for begin, end in pairwise(borders):
        if begin and period[begin] != period[begin - 1] + 1:
            left = 0
        change = held[begin:end] - dispatch[begin:end]
        ahead = _kept_above_zero(change, left)
        cost[begin:end] = np.concatenate(([left], ahead[:-1])) + held[begin:end] - ahead
        left = int(_kept_above_zero(change, 0)[-1])
    return cost


def _kept_above_zero(change: Int64s, first: int) -> Int64s:
    """A running sum that never falls below zero.

    >>> _kept_above_zero(np.array([5, -3, -4, 2]), 1).tolist()
    [6, 3, 0, 2]
    """
    total = first + np.cumsum(change)
    return np.asarray(total - np.minimum(np.minimum.accumulate(total), 0), np.int64)


def blocking_calls(host: Host) -> BlockingCalls:
    """All blocking calls of a rank."""
    rows = np.flatnonzero(host.of_category("sync"))
    rows = rows[np.lexsort((-host.end[rows], host.start[rows]))]
    outermost = rows[host.end[rows] > running_reach(host.thread[rows], host.end[rows])]
    return BlockingCalls(
        host.slice[outermost],
        host.start[outermost],
        host.end[outermost],
        host.name[outermost].cast(pl.String),
        host.thread[outermost],
    )
