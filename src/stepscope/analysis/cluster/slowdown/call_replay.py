"""A model of all ranks of a job: their own time between calls, and calls that begin when the last member arrives.

Formulas: docs/metrics/cluster.md, "The cluster's slowdown". The events of some steps at a time are ordered in levels
that do not depend on each other; many replays then walk over the levels side by side. What waits for a call that ends
in later steps is carried over to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analysis.cluster.slowdown.event_levels import Level, levels_of
from stepscope.analysis.cluster.slowdown.event_windows import EVENT, Events, EventWindows
from stepscope.analysis.cluster.slowdown.rank_chain import NO_CALL
from stepscope.arrays import Bools, Float64s, Int64s

# Replays side by side: memory grows with them, time per replay shrinks.
_AT_ONCE: Final = 16
_EVENTS_AT_ONCE: Final = 1 << 17


@dataclass(frozen=True)
class OwnTimes:
    """Busy and idle own time of each event of a window, as it would be ideally; nanoseconds."""

    busy: Int64s
    gap: Int64s


#: What events of a window would take ideally.
Ideal = Callable[[Events], OwnTimes]


@dataclass(frozen=True)
class Transfers:
    """What each call takes itself: recorded and ideally; nanoseconds."""

    recorded: Int64s
    ideal: Int64s


@dataclass(frozen=True)
class Keeps:
    """What keeps its recorded duration, for each replay (a column): ranks' compute, ranks' gaps, calls."""

    busy: Bools  # [ranks, replays]
    gap: Bools
    call: Bools  # [calls, replays]


class CallReplay:
    """Replays of the events that ``windows`` holds."""

    def __init__(self, windows: EventWindows) -> None:
        self._windows = windows
        self.recorded = np.array(windows.recorded)

    def possible(self) -> bool:
        """False where calls wait for each other in a cycle, so they cannot have happened as they were matched."""
        order = _Progress(self._windows)
        for window in self._windows.windows():
            for part in _parts(window):
                order.take(window[part])
        return not len(order.left)

    def step_ns(self, ideal: Ideal, transfers: Transfers, keeps: Keeps) -> Float64s:
        """How long steps take, ``[rank, step, replay]``."""
        replays = keeps.busy.shape[1]
        state = _State(len(self._windows.ranks), self.recorded.shape[1], replays)
        order = _Progress(self._windows)
        left = OwnTimes(np.empty(0, np.int64), np.empty(0, np.int64))
        for window in self._windows.windows():
            of_window = ideal(window)
            for part in _parts(window):
                own = OwnTimes(of_window.busy[part], of_window.gap[part])
                # In the order in which ``take`` puts what is left before what is new of each rank.
                place = order.places(window[part])
                own = OwnTimes(*(np.concatenate(both)[place] for both in ((left.busy, own.busy), (left.gap, own.gap))))
                taken = order.take(window[part])
                state.enter(taken.calls)
                for first in range(0, replays, _AT_ONCE):
                    state.walk(taken, own, transfers, keeps, slice(first, first + _AT_ONCE))
                state.leave(taken.calls, order.needed(taken.calls))
                left = OwnTimes(own.busy[taken.left], own.gap[taken.left])
        return np.diff(state.done, axis=1, prepend=0)


def _parts(window: Events) -> list[Int64s]:
    """The places of its events in parts of a bearable size: of each rank the same share of its events."""
    parts = -(-len(window) // _EVENTS_AT_ONCE)
    if parts < 2:
        return [np.arange(len(window))]
    first = np.searchsorted(window["rank"], window["rank"])
    count = np.searchsorted(window["rank"], window["rank"], side="right") - first
    part = (np.arange(len(window)) - first) * parts // count
    return [np.flatnonzero(part == each) for each in range(parts)]


@dataclass(frozen=True)
class _Taken:
    """What happens in a window: its events, calls by number, levels, and which events are left."""

    events: Events
    calls: Int64s
    levels: list[Level]
    left: Int64s


class _Progress:
    """How far all ranks have come."""

    def __init__(self, windows: EventWindows) -> None:
        self.left = np.empty(0, EVENT)
        self._missing, self._waiting = windows.members.copy(), windows.waiting.copy()

    def places(self, window: Events) -> Int64s:
        """Where the events stand in what is left and the window after it, rank by rank."""
        return np.argsort(np.concatenate((self.left["rank"], window["rank"])), kind="stable")

    def take(self, window: Events) -> _Taken:
        """All events that can happen now."""
        events = np.concatenate((self.left, window))[self.places(window)]
        named = np.unique(np.concatenate((events["call"], events["behind"]))).astype(np.int64)
        calls = named[named != NO_CALL]
        levels, left = levels_of(events, calls, self._missing, self._waiting)
        self.left = events[left]
        return _Taken(events, calls, levels, left)

    def needed(self, calls: Int64s) -> Bools:
        """Calls that some member has yet to come to, or whose end is still waited for."""
        return np.asarray((self._missing[calls] > 0) | (self._waiting[calls] > 0), np.bool_)


class _State:
    """The clocks of ranks and of the calls of a window, in all replays."""

    def __init__(self, ranks: int, steps: int, replays: int) -> None:
        self._clock = np.zeros((ranks, replays))
        self.done = np.zeros((ranks, steps, replays))
        self._kept = np.empty(0, np.int64)  # calls that earlier windows have begun
        self._kept_times = np.zeros((2, 0, replays))

    def enter(self, calls: Int64s) -> None:
        """Go on with the calls of a window."""
        self._times = np.zeros((2, len(calls), self._clock.shape[1]))
        _, place, kept = np.intersect1d(calls, self._kept, assume_unique=True, return_indices=True)
        self._times[:, place] = self._kept_times[:, kept]
        # Calls in which nothing happens in this window stay as they are.
        rest = np.setdiff1d(np.arange(len(self._kept)), kept, assume_unique=True)
        self._kept, self._kept_times = self._kept[rest], self._kept_times[:, rest]

    def leave(self, calls: Int64s, needed: Bools) -> None:
        """Keep what later windows need."""
        self._kept = np.concatenate((self._kept, calls[needed]))
        self._kept_times = np.concatenate((self._kept_times, self._times[:, needed]), axis=1)
        order = np.argsort(self._kept, kind="stable")
        self._kept, self._kept_times = self._kept[order], self._kept_times[:, order]

    def walk(self, taken: _Taken, ideal: OwnTimes, transfers: Transfers, keeps: Keeps, replays: slice) -> None:
        """Let some replays go through the levels of a window."""
        clock, (arrived, ended) = self._clock[:, replays], self._times[:, :, replays]
        busy_kept, gap_kept = keeps.busy[:, replays], keeps.gap[:, replays]
        more_busy, more_gap = taken.events["busy"] - ideal.busy, taken.events["gap"] - ideal.gap
        usual, recorded = transfers.ideal[taken.calls], transfers.recorded[taken.calls]
        transfer = usual[:, None] + keeps.call[taken.calls, replays] * (recorded - usual)[:, None]
        for level in taken.levels:
            rank, event = level.rank, level.event
            own = busy_kept[rank] * more_busy[event][:, None] + gap_kept[rank] * more_gap[event][:, None]
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
                self.done[level.done_rank, level.done_step, replays] = clock[level.done_rank]
            if len(level.complete):
                ended[level.complete] = arrived[level.complete] + transfer[level.complete]
