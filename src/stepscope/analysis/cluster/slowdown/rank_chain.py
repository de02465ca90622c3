"""What a rank does between its calls: a chain of events, and its own time between each and the one before.

Events are the starts of calls, the ends of calls that the rank waited for, and the ends of its steps. A call that ends
while the rank computes holds nobody up. Only times of one clock are compared (docs/metrics/cluster.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analysis.foundation.computing_time import computing_of
from stepscope.analysis.foundation.intervals import Intervals, joined, union
from stepscope.analysis.foundation.periods import Periods, periods_of
from stepscope.analysis.foundation.work import work_of
from stepscope.arrays import Bools, Int8s, Int32s, Int64s
from stepscope.store.run_store import RunStore

#: Kinds of events. At one moment ends come first, and a step ends before the next begins.
ENDS, STEP_ENDS, STARTS, STARTS_BEHIND = range(4)
NO_CALL: Final = -1
# A call that starts this soon after another one on its stream was queued behind it.
_QUEUED_NS: Final = 50_000


@dataclass(frozen=True)
class RankCalls:
    """The calls of a rank: which, when it came, when they ended, on which stream (-1 on the host)."""

    call: Int64s
    arrival: Int64s
    end: Int64s
    stream: Int64s


@dataclass(frozen=True)
class RankChain:
    """Events of one rank in time order. A queued call started ``gap`` after the call that it was ``behind``.

    ``step`` is the position of the step that an event belongs to, -1 beyond all. The events of all ranks are in memory
    at once, so numbers are no wider than they need to be.
    """

    kind: Int8s
    call: Int32s
    step: Int32s
    busy: Int64s
    gap: Int64s
    behind: Int32s
    steps: Int64s  # numbers of all steps, and how long each took
    recorded: Int64s


def rank_chain(store: RunStore, rank: int, calls: RankCalls) -> RankChain | None:
    """The chain of a rank; nothing where its steps are not known."""
    periods = periods_of(store, rank)
    if not len(periods.step) or not periods.known.any():
        return None
    computing = computing_of(store, rank)
    enclosing = work_of(store, rank).enclosing
    if len(enclosing.start):  # operators around others keep a host busy that computes by itself
        computing = joined(computing, union(enclosing.start, enclosing.end))
    return chain_of(periods, computing, calls)


def chain_of(periods: Periods, computing: Intervals, calls: RankCalls) -> RankChain:
    """The chain from when the rank computed, and from its calls."""
    began, over = int(periods.start[0]), int(periods.end[-1])
    inside = (calls.end > began) & (calls.arrival < over)
    call, arrival, end, stream = (each[inside] for each in (calls.call, calls.arrival, calls.end, calls.stream))
    arrival, end = np.maximum(arrival, began), np.minimum(end, over)
    idle_since = _idle_since(computing, end)
    waited = idle_since < end  # otherwise it was still computing
    behind = _queued_behind(call, arrival, end, stream, waited)
    moment = np.concatenate((end[waited], periods.end, arrival))
    kind = np.concatenate(
        (
            np.full(int(waited.sum()), ENDS),
            np.full(len(periods.end), STEP_ENDS),
            np.where(behind != NO_CALL, STARTS_BEHIND, STARTS),
        )
    )
    of_call = np.concatenate((call[waited], np.full(len(periods.end), NO_CALL), call))
    follows = np.concatenate((np.full(int(waited.sum()) + len(periods.end), NO_CALL), behind))
    lag = np.concatenate((np.zeros(int(waited.sum()) + len(periods.end), np.int64), _lag(behind, call, arrival, end)))
    since = np.concatenate((idle_since[waited], periods.end, arrival))
    order = np.lexsort((kind, moment))
    kind, of_call, follows, moment, since, lag = (each[order] for each in (kind, of_call, follows, moment, since, lag))
    on_chain = kind != STARTS_BEHIND
    before = _moment_before(moment, on_chain, began)
    until = np.where(kind == ENDS, np.maximum(since, before), moment)  # what comes after is waiting
    busy = np.where(on_chain, computing.covered_within(before, until), 0)
    gap = np.where(on_chain, until - before - busy, lag)
    step = np.searchsorted(periods.end, moment, side="left")
    return RankChain(
        kind.astype(np.int8),
        of_call.astype(np.int32),
        np.where(step < len(periods.end), step, -1).astype(np.int32),
        busy,
        gap,
        follows.astype(np.int32),
        periods.step,
        periods.end - periods.start,
    )


def _idle_since(computing: Intervals, moment: Int64s) -> Int64s:
    """Since when the rank had not computed at each moment; the moment itself where it still did."""
    index = np.searchsorted(computing.start, moment, side="left") - 1
    if not len(computing.start):
        return np.full(len(moment), np.iinfo(np.int64).min, np.int64)
    last = np.where(index >= 0, computing.end[np.maximum(index, 0)], np.iinfo(np.int64).min)
    return np.minimum(last, moment)


def _queued_behind(call: Int64s, arrival: Int64s, end: Int64s, stream: Int64s, waited: Bools) -> Int64s:
    """The call before on the same stream, where that one was still under way when the rank came to this one."""
    behind = np.full(len(call), NO_CALL, np.int64)
    order = np.lexsort((arrival, stream))
    earlier, later = order[:-1], order[1:]
    same = (stream[earlier] == stream[later]) & (stream[later] >= 0) & ~waited[earlier]
    close = (arrival[later] >= end[earlier]) & (arrival[later] - end[earlier] <= _QUEUED_NS)
    behind[later[same & close]] = call[earlier[same & close]]
    return behind


def _lag(behind: Int64s, call: Int64s, arrival: Int64s, end: Int64s) -> Int64s:
    """How long after the end of the call before it each queued call started."""
    lag = np.zeros(len(call), np.int64)
    queued = np.flatnonzero(behind != NO_CALL)
    if len(queued):
        order = np.argsort(call, kind="stable")
        earlier = order[np.searchsorted(call[order], behind[queued])]
        lag[queued] = arrival[queued] - end[earlier]
    return lag


def _moment_before(moment: Int64s, on_chain: Bools, began: int) -> Int64s:
    """The moment of the last event of the chain before each event."""
    position = np.where(on_chain, np.arange(len(moment)), -1)
    last = np.concatenate(([-1], np.maximum.accumulate(position)[:-1])) if len(moment) else position
    return np.where(last >= 0, moment[np.maximum(last, 0)], began)
