"""Merged lanes of a rank: when it computes, communicates, communicates or copies while nothing computes, or is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation import work
from stepscope.analysis.foundation.idle import CAUSES, idle_of
from stepscope.analysis.foundation.intervals import Intervals, difference, joined, union
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.timeline.clock import RunClock
from stepscope.analysis.timeline.columns import NO_KIND, RankColumns
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore

if TYPE_CHECKING:
    from stepscope.analysis.timeline.view import TimelineView

LANES: Final = ("computing", "communication", "exposed_communication", "exposed_copy", "free")
#: What a stretch of idle time waited for; its name in a tile is the number of its cause behind those of the lanes.
IDLE_CAUSES: Final = CAUSES
_UNKNOWN: Final = CAUSES.index("unknown")
#: Lanes of which the state of a rank is made: at each moment one of them, or none.
_STATES: Final = (0, 2, 3, 4)


@dataclass(frozen=True)
class Lanes:
    """The lanes in the order of LANES; free is what the span, the time of all steps, holds beside all of them."""

    rank: int
    on_device: bool
    span: tuple[int, int]
    lanes: tuple[Intervals, ...]
    idle_cause: Int64s  # of each stretch of the last lane, the number of its main cause

    @property
    def bytes(self) -> int:
        return sum(lane.start.nbytes + lane.end.nbytes for lane in self.lanes) * 5

    @cached_property
    def columns(self) -> RankColumns:
        """The lanes as rows, so that tiles show them as they show tracks, and one more row: the state of the rank.

        Ids count the intervals of a lane. Idle time is named by its cause.
        """
        names = [np.full(len(lane.start), number, np.int64) for number, lane in enumerate(self.lanes[:-1])]
        names.append(len(LANES) + self.idle_cause)
        state = _in_time_order([self.lanes[lane] for lane in _STATES], [names[lane] for lane in _STATES])
        rows = [*zip((lane.start for lane in self.lanes), (lane.end for lane in self.lanes), names, strict=True), state]
        lengths = np.array([len(start) for start, _, _ in rows])
        start, end, name = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return RankColumns(
            rank=self.rank,
            tracks=[0],
            track_first_row=np.array([0, len(rows)]),
            row_first=np.concatenate(([0], np.cumsum(lengths))),
            start=start,
            busy=np.concatenate((np.zeros(1, np.int64), np.cumsum(end - start))),
            slice=np.concatenate([np.arange(length, dtype=np.uint32) for length in lengths]),
            name=name.astype(np.uint32),
            kind=np.full(len(start), NO_KIND, np.uint8),
            names=pl.Series((*LANES, *IDLE_CAUSES), dtype=pl.String),
        )


@dataclass(frozen=True)
class LaneTotals:
    """computing + exposed_communication + exposed_copy + free = span_dur_ns, exactly; so do the causes make up free.

    A stretch of idle time counts for its main cause.
    """

    rank: int
    on_device: bool
    span_at_ns: int
    span_dur_ns: int
    total_ns: dict[str, int]
    idle_ns: dict[str, int]
    intervals: dict[str, int]


@dataclass(frozen=True)
class LanesAnswer:
    lanes: list[str]
    ranks: list[LaneTotals]


def lane_totals(
    view: TimelineView, ranks: Sequence[int] | None, from_ns: int | None = None, to_ns: int | None = None
) -> LanesAnswer:
    """How long each lane lasts within a window of the timeline, per rank."""
    return LanesAnswer(list(LANES), [_totals(view.lanes(rank), from_ns, to_ns) for rank in view.ranks(ranks)])


def rank_lanes(store: RunStore, rank: int, clock: RunClock) -> Lanes:
    """The lanes of a rank, on the run's clock."""
    rank_work = work.work_of(store, rank)

    def lane(start: Int64s, end: Int64s) -> Intervals:
        return union(clock.relative(rank, start), clock.relative(rank, end))

    def of(name: str) -> Intervals:
        own = rank_work.of(name)
        return lane(rank_work.start[own], rank_work.end[own])

    when_computing = rank_work.computing()
    computing, communication = lane(when_computing.start, when_computing.end), of(work.COMMUNICATION)
    exposed_copy = difference(of(work.COPY), joined(computing, communication))
    exposed = difference(communication, computing)
    if not rank_work.on_device:
        # A host is busy in all operators around others; but what these may wait for stays what it is.
        around = lane(rank_work.enclosing.start, rank_work.enclosing.end)
        computing = joined(computing, difference(around, joined(computing, communication, exposed_copy)))
    busy = joined(computing, communication, exposed_copy)
    span = _span(store, rank, clock, busy)
    free = busy.gaps(*span)
    lanes = (computing, communication, exposed, exposed_copy, free)
    return Lanes(rank, rank_work.on_device, span, lanes, _causes(store, rank, clock, free))


def _causes(store: RunStore, rank: int, clock: RunClock, free: Intervals) -> Int64s:
    """The main cause of each stretch of idle time; unknown where the gaps of the steps do not tell."""
    cause = np.full(len(free.start), _UNKNOWN, np.int64)
    gaps = idle_of(store, rank).gaps
    if not len(gaps.start) or not len(cause):
        return cause
    # A stretch over the end of a step is two gaps: their times by cause add up.
    middle = clock.relative(rank, gaps.start + gaps.length // 2)
    stretch = np.searchsorted(free.start, middle, side="right") - 1
    inside = (stretch >= 0) & (middle < free.end[np.maximum(stretch, 0)])
    spent = np.zeros((len(cause), len(CAUSES)), np.int64)
    np.add.at(spent, stretch[inside], gaps.cause[inside])
    return np.where(spent.any(axis=1), spent.argmax(axis=1), _UNKNOWN)


def _in_time_order(lanes: list[Intervals], names: list[Int64s]) -> tuple[Int64s, Int64s, Int64s]:
    """Starts, ends and names of disjoint lanes as one row."""
    start, end = np.concatenate([lane.start for lane in lanes]), np.concatenate([lane.end for lane in lanes])
    order = np.argsort(start, kind="stable")
    return start[order], end[order], np.concatenate(names)[order]


def _span(store: RunStore, rank: int, clock: RunClock, busy: Intervals) -> tuple[int, int]:
    """The time of the rank's steps, so that what is free here is idle in all other answers; else that of its work."""
    periods = periods_of(store, rank)
    if periods.known.any():
        first, last = clock.relative(rank, np.array([periods.start.min(), periods.end.max()])).tolist()
        return int(first), int(last)
    return (int(busy.start[0]), int(busy.end[-1])) if len(busy.start) else (0, 0)


def _totals(lanes: Lanes, from_ns: int | None, to_ns: int | None) -> LaneTotals:
    first, last = lanes.span
    first = first if from_ns is None else max(first, from_ns)
    last = max(first, last if to_ns is None else min(last, to_ns))
    within = [lane.clipped(first, last) for lane in lanes.lanes]
    return LaneTotals(
        lanes.rank,
        lanes.on_device,
        first,
        last - first,
        {name: lane.length for name, lane in zip(LANES, within, strict=True)},
        _idle_by_cause(lanes, first, last),
        {name: len(lane.start) for name, lane in zip(LANES, within, strict=True)},
    )


def _idle_by_cause(lanes: Lanes, first: int, last: int) -> dict[str, int]:
    free = lanes.lanes[-1]
    inside = np.maximum(np.minimum(free.end, last) - np.maximum(free.start, first), 0)
    spent = np.zeros(len(CAUSES), np.int64)
    np.add.at(spent, lanes.idle_cause, inside)
    return dict(zip(IDLE_CAUSES, spent.tolist(), strict=True))
