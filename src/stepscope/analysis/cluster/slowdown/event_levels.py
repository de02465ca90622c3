"""The order of events: levels of those that can happen at once, as far as they can happen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.cluster.slowdown.event_windows import Events
from stepscope.analysis.cluster.slowdown.rank_chain import ENDS, NO_CALL, STARTS, STARTS_BEHIND, STEP_ENDS
from stepscope.analysis.foundation.intervals import expanded
from stepscope.arrays import Int32s, Int64s


@dataclass(frozen=True)
class Level:
    """Events that can happen at once, and calls that are complete after them. Calls are places in those of a window."""

    rank: Int32s  # whose chain advances, by `event`
    event: Int64s
    end_rank: Int32s  # of those, which wait for the end of `end_call`
    end_call: Int64s
    start_rank: Int32s  # starts, sorted by call; `start_first` are the first of each
    start_call: Int64s
    start_first: Int64s
    queued: Int64s  # events of starts behind another call, sorted by call
    queued_call: Int64s
    queued_behind: Int64s
    done_rank: Int32s  # steps that end
    done_step: Int32s
    complete: Int64s  # calls whose last member has arrived


def levels_of(events: Events, calls: Int64s, missing: Int32s, waiting: Int32s) -> tuple[list[Level], Int64s]:
    """All levels, and the events that have to wait for ranks and calls that are not here yet.

    ``missing`` members of each call and events ``waiting`` for its end are counted down.
    """
    order = _Order(events, calls, missing)
    levels = []
    while (taken := order.take()) is not None:
        levels.append(_level(events, order, *taken))
    left = order.left()
    happened = np.ones(len(events), np.bool_)
    happened[left] = False
    missing[calls] = order.missing
    ended = order.needed_call[happened & (order.needed_call != NO_CALL)]
    np.subtract.at(waiting, calls[ended], 1)
    return levels, left


def _level(events: Events, order: _Order, event: Int64s, complete: Int64s) -> Level:
    kind, call, rank = events["kind"][event], order.call[event], events["rank"][event]
    queued = kind == STARTS_BEHIND
    chain, ends = ~queued, kind == ENDS
    starts = np.flatnonzero(kind == STARTS)
    starts = starts[np.argsort(call[starts], kind="stable")]
    start_call, first = np.unique(call[starts], return_index=True)
    done = kind == STEP_ENDS
    return Level(
        rank=rank[chain],
        event=event[chain],
        end_rank=rank[ends],
        end_call=call[ends],
        start_rank=rank[starts],
        start_call=start_call,
        start_first=first,
        queued=event[queued],
        queued_call=call[queued],
        queued_behind=order.needed_call[event[queued]],
        done_rank=rank[done],
        done_step=events["step"][event[done]],
        complete=complete,
    )


class _Order:
    """Takes events level by level: those whose chain has come so far and whose calls have ended."""

    def __init__(self, events: Events, calls: Int64s, missing: Int32s) -> None:
        kind = events["kind"]
        self.call = _places(events["call"], calls)
        needed = np.where(kind == ENDS, events["call"], np.where(kind == STARTS_BEHIND, events["behind"], NO_CALL))
        self.needed_call = _places(needed, calls)
        self._starts = (kind == STARTS) | (kind == STARTS_BEHIND)
        self.missing = missing[calls]
        on_chain = np.flatnonzero(kind != STARTS_BEHIND)
        self._next_on_chain = np.full(len(events), -1, np.int64)
        same = events["rank"][on_chain[1:]] == events["rank"][on_chain[:-1]]
        self._next_on_chain[on_chain[:-1][same]] = on_chain[1:][same]
        is_first = np.ones(len(on_chain), np.bool_)
        is_first[1:] = ~same
        # A call that ended in an earlier window keeps nobody waiting.
        waits_for_call = self.needed_call != NO_CALL
        waits_for_call[waits_for_call] = self.missing[self.needed_call[waits_for_call]] > 0
        self._waits = (kind != STARTS_BEHIND).astype(np.int8) + waits_for_call
        self._waits[on_chain[is_first]] -= 1
        waiting = np.flatnonzero(waits_for_call)
        self._waiting = waiting[np.argsort(self.needed_call[waiting], kind="stable")]
        self._first_waiting = np.searchsorted(self.needed_call[self._waiting], np.arange(len(calls) + 1))
        self._ready = np.flatnonzero(self._waits == 0)
        self._taken = np.zeros(len(events), np.bool_)

    def left(self) -> Int64s:
        """Events that were not taken."""
        return np.flatnonzero(~self._taken)

    def take(self) -> tuple[Int64s, Int64s] | None:
        """The next events, and the calls that are complete with them."""
        event = self._ready
        if not len(event):
            return None
        self._taken[event] = True
        calls, members = np.unique(self.call[event[self._starts[event]]], return_counts=True)
        self.missing[calls] -= members.astype(np.int32)
        complete = calls[self.missing[calls] == 0]
        following = self._next_on_chain[event]
        following = following[following >= 0]
        held = self._held_by(complete)
        self._waits[following] -= 1
        self._waits[held] -= 1
        both = np.unique(np.concatenate((following, held)))
        self._ready = both[self._waits[both] == 0]
        return event, complete

    def _held_by(self, calls: Int64s) -> Int64s:
        first, last = self._first_waiting[calls], self._first_waiting[calls + 1]
        index, _ = expanded(first, last)
        return np.asarray(self._waiting[index], np.int64)


def _places(numbers: Int32s, calls: Int64s) -> Int64s:
    """The place of each call in ``calls``; none stays none."""
    return np.where(numbers == NO_CALL, NO_CALL, np.searchsorted(calls, numbers))
