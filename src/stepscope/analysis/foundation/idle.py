"""When a rank had nothing to do, and what it waited for: one classification for all (docs/metrics/launches.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from stepscope.analysis.foundation.blocking_calls import BlockingCalls, blocking_calls, held_up
from stepscope.analysis.foundation.data_waits import waiting_for_data
from stepscope.analysis.foundation.host_activity import ALL, CATEGORIES, Host, host_of
from stepscope.analysis.foundation.intervals import Intervals, expanded, union
from stepscope.analysis.foundation.launched import UNKNOWN, Launched, launched_of
from stepscope.analysis.foundation.periods import Periods, periods_of
from stepscope.analysis.foundation.rank_cache import cached_per_rank
from stepscope.analysis.foundation.units import Microseconds
from stepscope.analysis.foundation.work import COMMUNICATION, work_of
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.facts.launches import launches_facts
from stepscope.store.run_store import RunStore


class IdleByCause(msgspec.Struct, frozen=True, kw_only=True):
    """Idle time by what was waited for; the causes add up to the idle time."""

    data_us: Microseconds
    host_us: Microseconds
    sync_us: Microseconds
    gc_us: Microseconds
    collective_us: Microseconds
    dependency_us: Microseconds
    profiler_us: Microseconds
    unknown_us: Microseconds


#: What a device may wait for, in the order of the columns.
CAUSES: Final = tuple(field.removesuffix("_us") for field in IdleByCause.__struct_fields__)
DATA, HOST, SYNC, GC, COLLECTIVE, DEPENDENCY, PROFILER, NOT_KNOWN = range(len(CAUSES))
# Activities of the host that have a cause of their own; all others are the host's.
_CAUSE_OF_ACTIVITY: Final = {"data_loading": DATA, "gc": GC, "collective": COLLECTIVE, "profiler": PROFILER}
# What a host does to launch work, which it could have done while a blocking call held it.
_DISPATCH: Final = [CATEGORIES.index(name) for name in ("launch", "operator", "runtime")]


@dataclass(frozen=True)
class Gaps:
    """Stretches without any work within the periods of steps, in the order of the steps."""

    period: Int64s  # position of the step's period
    start: Int64s
    end: Int64s
    lead: Bools  # before the step's first work
    next: Int64s  # position of the work that ends it, NONE
    previous: Int64s  # position of the work that ended last before it, NONE
    threads: list[Int64s]  # whom to ask what the host did, in turn
    blocked: Int64s  # position of the blocking call that held the host when the gap began, NONE
    activity: Int64s  # nanoseconds by category of the host's activity, where it was late or may have been
    cause: Int64s  # nanoseconds by cause

    @cached_property
    def length(self) -> Int64s:
        return self.end - self.start

    def per_period(self, values: Int64s, count: int) -> Int64s:
        """Sums of a value of each gap over the gaps of a period; exact, as NumPy's weighted count is not."""
        total = np.zeros((count, *values.shape[1:]), np.int64)
        np.add.at(total, self.period, values)
        return total


@dataclass(frozen=True)
class RankIdle:
    """The idle time of a rank with all that its causes were found with."""

    periods: Periods
    launched: Launched
    calls: BlockingCalls
    gaps: Gaps

    @property
    def host(self) -> Host:
        return self.launched.host

    @cached_property
    def cause(self) -> Int64s:
        """Nanoseconds by period and cause."""
        return self.gaps.per_period(self.gaps.cause, len(self.periods.step))


@cached_per_rank
def idle_of(store: RunStore, rank: int) -> RankIdle:
    """All gaps of a rank with their causes."""
    work, host, periods = work_of(store, rank), host_of(store, rank), periods_of(store, rank)
    # On a host that computes by itself, operators around others keep it busy too.
    launched = launched_of(store, rank, host, work if work.on_device else work.with_enclosing())
    calls = blocking_calls(host)
    gaps = _gaps(launched, periods, calls, waiting_for_data(store, rank), on_device=work.on_device)
    return RankIdle(periods, launched, calls, gaps)


def _gaps(work: Launched, periods: Periods, calls: BlockingCalls, data_waits: Intervals, *, on_device: bool) -> Gaps:
    """``data_waits``: when the device itself waited for a batch."""
    start, end, period = _stretches(union(work.start, work.end), periods)
    lead = start < periods.work_start[period]
    follower = np.searchsorted(work.start, end, side="left")
    follower = _with_launch(work, np.where(follower < len(work.start), follower, NONE))
    by_end = np.argsort(work.end, kind="stable")
    before = np.searchsorted(work.end[by_end], start, side="right") - 1
    previous = np.where(before >= 0, by_end[np.maximum(before, 0)], NONE) if len(by_end) else before
    threads = _threads(work, follower)
    launch = np.where(work.on_host, work.start, work.call_start)[follower] if len(work.slice) else follower
    launch = np.where(follower == NONE, UNKNOWN, launch)
    late, unknown = (launch > start) | (not on_device), launch == UNKNOWN
    launched = np.where(late, end, _launched_by(work, follower, start, end))
    to_host = launched > start
    activity = np.zeros((len(start), len(CATEGORIES)), np.int64)
    asked = np.flatnonzero(to_host | unknown)
    until = np.where(unknown, end, launched)
    activity[asked] = work.host.split([thread[asked] for thread in threads], start[asked], until[asked])
    blocked = np.where(late, calls.at(start), NONE)
    communicates = np.append(work.of(COMMUNICATION), False)  # the last position stands for NONE
    # Only a thread that launches could have launched meanwhile.
    held = calls.held_between(
        np.unique(np.append(work.thread, work.host.loop)), _since(start, launched, period, to_host, periods), start
    )
    cause = np.zeros((len(start), len(CAUSES)), np.int64)
    cause[to_host] = _late_causes(
        _LateGaps(*(each[to_host] for each in (start, launched, period, activity, blocked, held))), calls
    )
    in_time = ~late
    beside_collective = (communicates[follower] | communicates[previous])[in_time]
    waited = np.maximum(
        data_waits.covered_within(launched, end),
        np.where(unknown, activity[:, CATEGORIES.index("data_loading")], 0),
    )
    cause[in_time] += _in_time_causes((end - launched)[in_time], waited[in_time], beside_collective)
    return Gaps(period, start, end, lead, follower, previous, threads, blocked, activity, cause)


def _stretches(busy: Intervals, periods: Periods) -> tuple[Int64s, Int64s, Int64s]:
    """Start, end and period of each stretch in which nothing ran, in periods of which the work is known."""
    chosen = np.flatnonzero(periods.known)
    if not len(chosen):
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    first, last = periods.start[chosen], periods.end[chosen]
    free = busy.gaps(int(first.min()), int(last.max()))
    low, high = np.searchsorted(free.end, first, side="right"), np.searchsorted(free.start, last, side="left")
    stretch, owner = expanded(low, high)
    start, end = np.maximum(free.start[stretch], first[owner]), np.minimum(free.end[stretch], last[owner])
    lasting = end > start
    return start[lasting], end[lasting], chosen[owner[lasting]]


def _with_launch(work: Launched, follower: Int64s) -> Int64s:
    """Of several slices that end a gap together, one whose launch is known."""
    known = np.flatnonzero(work.call != NONE)
    if not len(known):
        return follower
    start = work.start[follower]
    nearest = np.minimum(np.searchsorted(work.start[known], start, side="left"), len(known) - 1)
    same = (follower != NONE) & (work.start[known[nearest]] == start)
    return np.where(same, known[nearest], follower)


def _launched_by(work: Launched, follower: Int64s, start: Int64s, end: Int64s) -> Int64s:
    """Until when the call that had begun to launch the next work was still at it; the gap's start where it was done.

    A call is at it for some microseconds in every gap, which is what the device needs between kernels. One that has
    launched other work before has done its part.
    """
    begins_call = np.zeros(len(work.slice) + 1, bool)  # the last position stands for NONE
    begins_call[work.first] = True
    still = begins_call[follower] & (end - start >= launches_facts().idle.between_kernels_us * 1000)
    if not still.any():
        return start
    return np.where(still, np.clip(work.call_end[follower], start, end), start)


def _threads(work: Launched, follower: Int64s) -> list[Int64s]:
    """Who was late: the thread that launched the next work, the one that asked for it, the training loop."""
    there = follower != NONE
    launch = np.where(there, work.thread[follower], NONE) if len(work.slice) else follower
    operator = np.where(there, work.operator_thread[follower], NONE) if len(work.slice) else follower
    loop = np.full(len(follower), work.host.loop, np.int64)
    # Where no launch was recorded, nobody knows which thread matters.
    return [np.where(launch == NONE, np.where(operator == NONE, ALL, operator), launch), operator, loop]


@dataclass(frozen=True)
class _LateGaps:
    """Gaps before work that the host launched too late, or the part of them until it had launched it."""

    start: Int64s
    end: Int64s
    period: Int64s
    activity: Int64s
    blocked: Int64s
    held: Int64s  # how long blocking calls held the host since the late gap before, while the device had work


def _since(start: Int64s, launched: Int64s, period: Int64s, late: Bools, periods: Periods) -> Int64s:
    """Per gap the end of the late gap, or late part, before it, at the earliest the beginning of the step before."""
    earliest = periods.start[np.maximum(period - 1, 0)]
    ends = np.where(late, launched, np.iinfo(np.int64).min)
    before = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(ends)[:-1])) if len(ends) else ends
    return np.minimum(np.maximum(earliest, before), start)


def _late_causes(gaps: _LateGaps, calls: BlockingCalls) -> Int64s:
    """The host launched the next work too late: what it did meanwhile is the cause."""
    activity = gaps.activity
    cause = np.zeros((len(gaps.start), len(CAUSES)), np.int64)
    for name, number in _CAUSE_OF_ACTIVITY.items():
        cause[:, number] = activity[:, CATEGORIES.index(name)]
    rest = gaps.end - gaps.start - cause.sum(axis=1)
    # In a gap the host is late by what it does there. A call held it: until it returned, and as far as the launching
    # could have been done meanwhile. What else the host does after that is not the call's.
    in_calls = np.maximum(calls.return_lag(gaps.blocked, gaps.start, gaps.end), activity[:, CATEGORIES.index("sync")])
    dispatch = np.minimum(activity[:, _DISPATCH].sum(axis=1), np.maximum(rest - in_calls, 0))
    cause[:, SYNC] = np.minimum(in_calls + held_up(dispatch, gaps.held, gaps.period), rest)
    cause[:, HOST] = rest - cause[:, SYNC]
    return cause


def _in_time_causes(length: Int64s, waited_for_data: Int64s, beside_collective: Bools) -> Int64s:
    """The next work was launched in time, or nobody knows when."""
    cause = np.zeros((len(length), len(CAUSES)), np.int64)
    cause[:, DATA] = waited_for_data
    usual = launches_facts().idle.between_kernels_us * 1000
    reason = np.where(length < usual, DEPENDENCY, np.where(beside_collective, COLLECTIVE, NOT_KNOWN))
    cause[np.arange(len(length)), reason] += length - waited_for_data
    return cause
