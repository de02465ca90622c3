"""When the device had nothing to do, step by step, and what it waited for (docs/metrics/launches.md has the rules)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import ALL, CATEGORIES, NONE, expanded
from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.foundation.launched import UNKNOWN, Launched
from stepscope.analysis.foundation.work import COMMUNICATION
from stepscope.arrays import Bools, Int64s
from stepscope.facts.launches import launches_facts

#: What the device may wait for.
CAUSES: Final = ("host", "kernel", "collective", "data", "other")
HOST, KERNEL, COLLECTIVE, DATA, OTHER_CAUSE = range(len(CAUSES))
_DATA_LOADING: Final = CATEGORIES.index("data_loading")
_HOST_COLLECTIVE: Final = CATEGORIES.index("collective")


@dataclass(frozen=True)
class Windows:
    """Per step, in time order: from the end of the work before it to the end of its own work."""

    step: Int64s
    lead_start: Int64s
    start: Int64s
    end: Int64s

    def only(self, steps: Sequence[int] | None) -> Windows:
        """Those of some steps; of all if none are named."""
        if not steps:
            return self
        chosen = np.isin(self.step, list(steps))
        return Windows(self.step[chosen], self.lead_start[chosen], self.start[chosen], self.end[chosen])


@dataclass(frozen=True)
class Gaps:
    """Stretches without any work within the windows of steps."""

    window: Int64s  # place of the step in the windows
    start: Int64s
    end: Int64s
    lead: Bools  # before the step's first work
    next: Int64s  # place of the work that ends it, NONE
    previous: Int64s  # place of the work that ended last before it, NONE
    threads: list[Int64s]  # whom to ask what the host did, in turn
    activity: Int64s  # nanoseconds by category of the host's activity, where the device waited for the host or may have
    cause: Int64s  # nanoseconds by cause

    @cached_property
    def length(self) -> Int64s:
        return self.end - self.start


def windows_of(work: Launched, marks: pl.DataFrame, on_device: bool) -> Windows:
    """Steps that have work. Without an accelerator a step's window is that of its mark."""
    number = marks["step"].to_numpy()
    host_start, host_end = marks["host_start_ns"].to_numpy(), marks["host_end_ns"].to_numpy()
    order = np.argsort(number, kind="stable")
    inside = np.isin(work.step, number)
    index = order[np.searchsorted(number[order], work.step[inside])]
    start = np.full(len(number), np.iinfo(np.int64).max, np.int64)
    end = np.full(len(number), UNKNOWN, np.int64)
    np.minimum.at(start, index, work.start[inside])
    np.maximum.at(end, index, work.end[inside])
    there = start <= end
    if not on_device:
        start, end = host_start, host_end
    step, start, end, host_start = number[there], start[there], end[there], host_start[there]
    reached = np.concatenate((host_start[:1], np.maximum.accumulate(end)[:-1])) if len(end) else end
    return Windows(step, np.minimum(reached, start), start, end)


def gaps_of(work: Launched, windows: Windows, on_device: bool, data_waits: Intervals) -> Gaps:
    """All gaps with their causes. ``data_waits``: when the device itself waited for a batch."""
    busy = union(work.start, work.end)
    idle = Intervals(busy.end[:-1], busy.start[1:])
    if len(windows.step):
        idle = busy.gaps(int(windows.lead_start.min()), int(windows.end.max()))
    # The time before a step's first work, and its span.
    first = np.concatenate((windows.lead_start, windows.start))
    last = np.concatenate((windows.start, windows.end))
    low, high = np.searchsorted(idle.end, first, side="right"), np.searchsorted(idle.start, last, side="left")
    place, part = expanded(low, high)
    start, end = np.maximum(idle.start[place], first[part]), np.minimum(idle.end[place], last[part])
    lasting = end > start  # the time before a step's first work may be empty and lie inside an idle stretch
    start, end, part = start[lasting], end[lasting], part[lasting]
    window, lead = part % max(len(windows.step), 1), part < len(windows.step)
    follower = np.searchsorted(work.start, end, side="left")
    follower = np.where(follower < len(work.start), follower, NONE)
    follower = _with_launch(work, follower)
    by_end = np.argsort(work.end, kind="stable")
    before = np.searchsorted(work.end[by_end], start, side="right") - 1
    previous = np.where(before >= 0, by_end[np.maximum(before, 0)], NONE) if len(by_end) else before
    threads = _threads(work, follower)
    launch = np.where(work.on_host, work.start, work.call_start)[follower] if len(work.slice) else follower
    launch = np.where(follower == NONE, UNKNOWN, launch)
    late, unknown = (launch > start) | (not on_device), launch == UNKNOWN
    activity = np.zeros((len(start), len(CATEGORIES)), np.int64)
    asked = np.flatnonzero(late | unknown)
    activity[asked] = work.host.split([thread[asked] for thread in threads], start[asked], end[asked])
    waited = data_waits.covered_within(start, end)
    communicates = np.append(work.of(COMMUNICATION), False)  # the last place stands for NONE
    around = communicates[follower] | communicates[previous]
    cause = _causes(end - start, late, unknown, activity, waited, around)
    return Gaps(window, start, end, lead, follower, previous, threads, activity, cause)


def _with_launch(work: Launched, follower: Int64s) -> Int64s:
    """Of several slices that end a gap together, one whose launch is known."""
    known = np.flatnonzero(work.call != NONE)
    if not len(known):
        return follower
    start = work.start[follower]
    at = np.minimum(np.searchsorted(work.start[known], start, side="left"), len(known) - 1)
    same = (follower != NONE) & (work.start[known[at]] == start)
    return np.where(same, known[at], follower)


def _threads(work: Launched, follower: Int64s) -> list[Int64s]:
    """Who was late: the thread that launched the next work, the one that asked for it, the training loop."""
    there = follower != NONE
    launch = np.where(there, work.thread[follower], NONE) if len(work.slice) else follower
    operator = np.where(there, work.operator_thread[follower], NONE) if len(work.slice) else follower
    loop = np.full(len(follower), work.host.loop, np.int64)
    # Where no launch was recorded, nobody knows which thread matters.
    return [np.where(launch == NONE, np.where(operator == NONE, ALL, operator), launch), operator, loop]


def _causes(
    length: Int64s, late: Bools, unknown: Bools, activity: Int64s, data_wait: Int64s, beside_collective: Bools
) -> Int64s:
    found = np.zeros((len(length), len(CAUSES)), np.int64)
    # The host was late: some of that time it loaded data or waited for other ranks.
    found[late, DATA] = activity[late, _DATA_LOADING]
    found[late, COLLECTIVE] = activity[late, _HOST_COLLECTIVE]
    found[late, HOST] = length[late] - found[late, DATA] - found[late, COLLECTIVE]
    # The work was there in time, or nobody knows when it came.
    rest, open_ones = ~late, ~late & unknown
    found[rest, DATA] = data_wait[rest]
    found[open_ones, DATA] = np.maximum(found[open_ones, DATA], activity[open_ones, _DATA_LOADING])
    usual = launches_facts().idle.between_kernels_us * 1000
    cause = np.where(length < usual, KERNEL, np.where(beside_collective, COLLECTIVE, OTHER_CAUSE))
    found[rest, cause[rest]] += length[rest] - found[rest, DATA]
    return found
