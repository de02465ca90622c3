"""Calls in which the host waits for the device, and what they cost it in idle time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import CATEGORIES, NONE, Host
from stepscope.analysis.foundation.launched import running_reach
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
        """Per moment the position of a call that began before it and had not ended, NONE if there is none."""
        if not len(self.start):
            return np.full(len(moment), NONE, np.int64)
        position = np.searchsorted(self.start, moment, side="left") - 1
        reach = np.maximum.accumulate(self.end)
        furthest = np.maximum.accumulate(np.where(self.end == reach, np.arange(len(self.end)), 0))
        call = np.where(position >= 0, furthest[np.maximum(position, 0)], NONE)
        return np.where((call != NONE) & (self.end[call] >= moment), call, NONE)

    def cost(self, call: Int64s, gap_start: Int64s, gap_end: Int64s, dispatch: Int64s, in_calls: Int64s) -> Int64s:
        """Nanoseconds that blocking calls cost in each gap; ``call`` held the host when the gap began.

        The device ran dry at the start of the gap, so the time until the call ends is how late it returned. Later calls
        (``in_calls``: time in any) keep the host from launching, too. And of the launching behind the first call
        (``dispatch``) the host could have done as much before the device ran dry as the call had held it by then. What
        else the host does after the return is not the call's.
        """
        if not len(self.start):
            return in_calls
        held = call != NONE
        return_lag = np.where(held, np.clip(self.end[call], gap_start, gap_end) - gap_start, 0)
        held_before = np.where(held, gap_start - self.start[call], 0)
        return np.asarray(np.maximum(return_lag, in_calls) + np.minimum(dispatch, held_before), np.int64)


def blocking_calls(host: Host) -> BlockingCalls:
    """All blocking calls of a rank."""
    rows = np.flatnonzero(host.category == _SYNC)
    rows = rows[np.lexsort((-host.end[rows], host.start[rows]))]
    outermost = rows[host.end[rows] > running_reach(host.thread[rows], host.end[rows])]
    return BlockingCalls(
        host.slice[outermost], host.start[outermost], host.end[outermost], host.name[outermost].cast(pl.String)
    )
