"""A model of all ranks of a job: their own time between calls, and calls that begin when the last member arrives.

Formulas: docs/metrics/cluster.md, "The cluster's slowdown". Events are ordered once, in levels that do not depend on
each other; each replay then walks over the levels, many replays side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stepscope.analysis.cluster.rank_chain import ENDS, NO_CALL, STARTS, STARTS_BEHIND, STEP_ENDS, RankChain
from stepscope.arrays import Bools, Int32s, Int64s

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Durations:
    """What events and calls take: busy and idle own time of each event, transfer of each call; nanoseconds."""

    busy: Int64s
    gap: Int64s
    transfer: Int64s


@dataclass(frozen=True)
class Keeps:
    """What keeps its recorded duration, for each replay (a column): ranks' compute, ranks' gaps, calls."""

    busy: Bools  # [ranks, replays]
    gap: Bools
    call: Bools  # [calls, replays]


@dataclass(frozen=True)
class _Level:
    """Events that can happen at once, and calls that are complete after them."""

    rank: Int32s  # whose chain advances, by `event`
    event: Int64s
    end_rank: Int32s  # of those, which wait for the end of `end_call`
    end_call: Int32s
    start_rank: Int32s  # starts, sorted by call; `start_first` are the first of each
    start_call: Int32s
    start_first: Int64s
    queued: Int64s  # events of starts behind another call, sorted by call
    queued_call: Int32s
    queued_behind: Int32s
    done_rank: Int32s  # steps that end
    done_step: Int32s
    complete: Int32s  # calls whose last member has arrived


class CallReplay:
    """Events of all ranks in one row: those of the first rank, then those of the second, and so on."""

    def __init__(self, ranks: Sequence[int], chains: Sequence[RankChain], calls: int) -> None:
        self.ranks = list(ranks)
        self.calls = calls
        self.rank = np.repeat(np.arange(len(chains), dtype=np.int32), [len(chain.kind) for chain in chains])
        self.kind = np.concatenate([chain.kind for chain in chains])
        self.call = np.concatenate([chain.call for chain in chains])
        self.step = np.concatenate([chain.step for chain in chains])
        self.behind = np.concatenate([chain.behind for chain in chains])
        self.steps = len(chains[0].steps)
        self.recorded = np.array([chain.recorded for chain in chains])
        self.busy = np.concatenate([chain.busy for chain in chains])
        self.gap = np.concatenate([chain.gap for chain in chains])
        self._levels = self._in_levels()

    @property
    def possible(self) -> bool:
        """False where calls wait for each other in a cycle, so they cannot have happened as they were matched."""
        return self._levels is not None

    def step_ns(self, recorded: Durations, ideal: Durations, keeps: Keeps) -> npt.NDArray[np.float64]:
        """How long steps take, ``[rank, step, replay]``."""
        replays = keeps.busy.shape[1]
        clock = np.zeros((len(self.ranks), replays))
        arrived = np.zeros((self.calls, replays))
        ended = np.zeros((self.calls, replays))
        done = np.zeros((len(self.ranks), self.steps, replays))
        more_busy, more_gap = recorded.busy - ideal.busy, recorded.gap - ideal.gap
        transfer = ideal.transfer[:, None] + keeps.call * (recorded.transfer - ideal.transfer)[:, None]
        for level in self._levels or ():
            rank, event = level.rank, level.event
            own = keeps.busy[rank] * more_busy[event][:, None] + keeps.gap[rank] * more_gap[event][:, None]
            clock[rank] += own + (ideal.busy[event] + ideal.gap[event])[:, None]
            if len(level.end_rank):
                clock[level.end_rank] = np.maximum(clock[level.end_rank], ended[level.end_call])
            if len(level.start_rank):
                latest = np.maximum.reduceat(clock[level.start_rank], level.start_first)
                arrived[level.start_call] = np.maximum(arrived[level.start_call], latest)
            if len(level.queued):
                came = ended[level.queued_behind] + ideal.gap[level.queued][:, None]
                np.maximum.at(arrived, level.queued_call, came)
            if len(level.done_rank):
                done[level.done_rank, level.done_step] = clock[level.done_rank]
            if len(level.complete):
                ended[level.complete] = arrived[level.complete] + transfer[level.complete]
        return np.diff(done, axis=1, prepend=0)

    def _in_levels(self) -> list[_Level] | None:
        order = _Order(self)
        levels = []
        while (level := order.take()) is not None:
            levels.append(self._level(*level))
        return levels if order.finished else None

    def _level(self, event: Int64s, complete: Int32s) -> _Level:
        kind, call, rank = self.kind[event], self.call[event], self.rank[event]
        queued = kind == STARTS_BEHIND
        chain, ends = ~queued, kind == ENDS
        starts = np.flatnonzero(kind == STARTS)
        starts = starts[np.argsort(call[starts], kind="stable")]
        start_call, first = np.unique(call[starts], return_index=True)
        done = kind == STEP_ENDS
        return _Level(
            rank=rank[chain],
            event=event[chain],
            end_rank=rank[ends],
            end_call=call[ends],
            start_rank=rank[starts],
            start_call=start_call,
            start_first=first,
            queued=event[queued],
            queued_call=call[queued],
            queued_behind=self.behind[event[queued]],
            done_rank=rank[done],
            done_step=self.step[event[done]],
            complete=complete,
        )


class _Order:
    """Takes events level by level: those whose chain has come so far and whose calls have ended."""

    def __init__(self, replay: CallReplay) -> None:
        self._replay = replay
        kind, call = replay.kind, replay.call
        on_chain = np.flatnonzero(kind != STARTS_BEHIND)
        self._next_on_chain = np.full(len(kind), -1, np.int64)
        same = replay.rank[on_chain[1:]] == replay.rank[on_chain[:-1]]
        self._next_on_chain[on_chain[:-1][same]] = on_chain[1:][same]
        is_first = np.ones(len(on_chain), np.bool_)
        is_first[1:] = ~same
        needs_call = np.where(kind == ENDS, call, np.where(kind == STARTS_BEHIND, replay.behind, NO_CALL))
        self._waits = (kind != STARTS_BEHIND).astype(np.int8) + (needs_call != NO_CALL)
        self._waits[on_chain[is_first]] -= 1
        starts = (kind == STARTS) | (kind == STARTS_BEHIND)
        self._missing = np.bincount(call[starts], minlength=replay.calls)
        waiting = np.flatnonzero(needs_call != NO_CALL)
        self._waiting = waiting[np.argsort(needs_call[waiting], kind="stable")]
        self._first_waiting = np.searchsorted(needs_call[self._waiting], np.arange(replay.calls + 1))
        self._ready = np.flatnonzero(self._waits == 0)
        self._taken = 0

    @property
    def finished(self) -> bool:
        """Whether all events were taken."""
        return self._taken == len(self._waits)

    def take(self) -> tuple[Int64s, Int32s] | None:
        """The next events, and the calls that are complete with them."""
        event = self._ready
        if not len(event):
            return None
        self._taken += len(event)
        kind, call = self._replay.kind[event], self._replay.call[event]
        arrived = call[(kind == STARTS) | (kind == STARTS_BEHIND)]
        calls, members = np.unique(arrived, return_counts=True)
        self._missing[calls] -= members
        complete = calls[self._missing[calls] == 0]
        following = self._next_on_chain[event]
        following = following[following >= 0]
        held = self._held_by(complete)
        self._waits[following] -= 1
        self._waits[held] -= 1
        both = np.unique(np.concatenate((following, held)))
        self._ready = both[self._waits[both] == 0]
        return event, complete

    def _held_by(self, calls: Int32s) -> Int64s:
        first, last = self._first_waiting[calls], self._first_waiting[calls + 1]
        count = last - first
        index = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
        return np.asarray(self._waiting[index], np.int64)
