"""Merged lanes of a rank: when it computes, communicates, communicates or copies while nothing computes, or is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation import work
from stepscope.analysis.foundation.intervals import Intervals, difference, joined, union
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.timeline.clock import RunClock
from stepscope.analysis.timeline.columns import NO_KIND, RankColumns
from stepscope.store.run_store import RunStore

if TYPE_CHECKING:
    from stepscope.analysis.timeline.view import TimelineView

LANES: Final = ("computing", "communication", "exposed_communication", "exposed_copy", "free")


@dataclass(frozen=True)
class Lanes:
    """The lanes in the order of LANES; free is what the span, the time of all steps, holds beside all of them."""

    rank: int
    on_device: bool
    span: tuple[int, int]
    lanes: tuple[Intervals, ...]

    @property
    def bytes(self) -> int:
        return sum(lane.start.nbytes + lane.end.nbytes for lane in self.lanes) * 3

    @cached_property
    def columns(self) -> RankColumns:
        """The lanes as rows, so that tiles show them as they show tracks; ids count the intervals of a lane."""
        lengths = np.array([len(lane.start) for lane in self.lanes])
        start = np.concatenate([lane.start for lane in self.lanes])
        end = np.concatenate([lane.end for lane in self.lanes])
        return RankColumns(
            rank=self.rank,
            tracks=[0],
            track_first_row=np.array([0, len(self.lanes)]),
            row_first=np.concatenate(([0], np.cumsum(lengths))),
            start=start,
            busy=np.concatenate((np.zeros(1, np.int64), np.cumsum(end - start))),
            slice=np.concatenate([np.arange(length, dtype=np.uint32) for length in lengths]),
            name=np.repeat(np.arange(len(self.lanes), dtype=np.uint32), lengths),
            kind=np.full(len(start), NO_KIND, np.uint8),
            names=pl.Series(LANES, dtype=pl.String),
        )


@dataclass(frozen=True)
class LaneTotals:
    """computing + exposed_communication + exposed_copy + free = span_dur_ns, exactly."""

    rank: int
    on_device: bool
    span_at_ns: int
    span_dur_ns: int
    total_ns: dict[str, int]
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
    start, end = clock.relative(rank, rank_work.start), clock.relative(rank, rank_work.end)
    parts = {}
    for name in (work.COMPUTE, work.COMMUNICATION, work.COPY):
        own = rank_work.of(name)
        parts[name] = union(start[own], end[own])
    computing, communication = parts[work.COMPUTE], parts[work.COMMUNICATION]
    exposed_copy = difference(parts[work.COPY], joined(computing, communication))
    exposed = difference(communication, computing)
    if not rank_work.on_device:
        # A host computes in operators around others, too; but what they wait for inside stays what it is.
        outer = rank_work.enclosing
        around = union(clock.relative(rank, outer.start), clock.relative(rank, outer.end))
        computing = joined(computing, difference(around, joined(computing, communication, exposed_copy)))
    busy = joined(computing, communication, exposed_copy)
    span = _span(store, rank, clock, busy)
    return Lanes(rank, rank_work.on_device, span, (computing, communication, exposed, exposed_copy, busy.gaps(*span)))


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
        {name: len(lane.start) for name, lane in zip(LANES, within, strict=True)},
    )
