"""How the time of each step divides: computing, exposed communication, exposed copies, idle (docs/metrics/steps.md).

Steps may overlap on the device. To sweep all of them at once, each is moved to a stretch of its own on one axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.idle import CAUSES, idle_of
from stepscope.analysis.foundation.intervals import Intervals, joined, union
from stepscope.analysis.foundation.periods import NEVER, Periods, periods_of
from stepscope.analysis.foundation.rank_cache import cached_per_rank
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE, COPY, Work, work_of
from stepscope.arrays import Bools, Int64s
from stepscope.store.run_store import RunStore

_CAUSE_COLUMNS = [f"idle_{cause}_ns" for cause in CAUSES]


@cached_per_rank
def step_parts(store: RunStore, rank: int) -> pl.DataFrame:
    """One row per mark, in their order; null is what the capture cannot tell.

    ``period = computing + exposed_communication + exposed_copy + idle + overlap``, and the idle columns of the causes
    add up to ``idle``, both exactly.
    """
    periods, work = periods_of(store, rank), work_of(store, rank)
    parts = _own_parts(store, rank, periods, work)
    causes = idle_of(store, rank).cause
    parts |= {
        "idle_ns": causes.sum(axis=1),
        **{column: causes[:, number] for number, column in enumerate(_CAUSE_COLUMNS)},
        "work_end_ns": periods.work_end,
    }
    period = periods.end - periods.start
    # Where neighbours overlap on the device, a step has work outside of its period, or others have work in it.
    busy = parts["computing_ns"] + parts["exposed_communication_ns"] + parts["exposed_copy_ns"]
    parts["overlap_ns"] = period - busy - parts["idle_ns"]
    known = pl.Series(periods.known)
    frame = pl.DataFrame(parts).select(
        pl.when(known & (pl.col(name) != NEVER)).then(pl.col(name)).alias(name) for name in parts
    )
    return frame.with_columns(period_start_ns=pl.Series(periods.start), period_ns=pl.Series(period))


@dataclass(frozen=True)
class _Axis:
    """Each step on a stretch of its own: ``border`` are the edges, ``shift`` is what to add to its moments."""

    border: Int64s
    shift: Int64s

    def per_step(self, intervals: Intervals) -> Int64s:
        return intervals.covered_within(self.border[:-1], self.border[1:])


def _own_parts(store: RunStore, rank: int, periods: Periods, work: Work) -> dict[str, Int64s]:
    """What a step's own work says, wherever it ran."""
    position = periods.index_of(work.step)
    inside = (position >= 0) & work.in_step
    index, start, end = position[inside], work.start[inside], work.end[inside]
    has_work = periods.work_start != NEVER
    if work.on_device:
        window_start = np.where(has_work, periods.work_start, 0)
        span = np.where(has_work, periods.work_end - periods.work_start, 0)
    else:
        marks = step_marks(store, rank)
        window_start = marks["host_start_ns"].to_numpy()
        window_end = marks["host_end_ns"].fill_null(marks["host_start_ns"]).to_numpy()
        span = window_end - window_start
        start, end = (np.clip(moments, window_start[index], window_end[index]) for moments in (start, end))
    border = np.concatenate(([0], np.cumsum(span)))
    axis = _Axis(border, border[:-1] - window_start)
    start, end = start + axis.shift[index], end + axis.shift[index]

    def of(chosen: Bools) -> Intervals:
        return union(start[chosen], end[chosen])

    is_copy, is_communication, receives = work.of(COPY)[inside], work.of(COMMUNICATION)[inside], work.receives[inside]
    compute, communication = of(work.of(COMPUTE)[inside]), of(is_communication)
    busy = joined(compute, communication)
    # What one part has alone is what it adds to the union with the others.
    computing, communicating, together = (axis.per_step(part) for part in (compute, communication, busy))
    with_others = axis.per_step(joined(compute, of(is_communication & ~receives)))
    occupied = axis.per_step(joined(busy, of(is_copy)))
    enclosing = _enclosing(work, periods, busy, axis, span) if len(work.enclosing.start) else np.zeros_like(span)
    first = np.full(len(span), NEVER, np.int64)
    np.minimum.at(first, index[~is_copy], (start - axis.shift[index])[~is_copy])
    around = periods.index_of(work.enclosing.step)
    outer = around >= 0
    np.minimum.at(first, around[outer], np.maximum(work.enclosing.start[outer], window_start[around[outer]]))
    return {
        "device_span_ns": span,
        "computing_ns": computing + enclosing,
        "pure_computing_ns": together - communicating + enclosing,
        "communication_ns": communicating,
        "overlapped_ns": communicating - (together - computing),
        "exposed_communication_ns": together - computing,
        "receive_alone_ns": together - with_others,
        "collective_alone_ns": with_others - computing,
        "exposed_copy_ns": occupied - together,
        "free_ns": span - occupied - enclosing,
        "enclosing_ns": enclosing,
        "bubble_ns": axis.per_step(of(receives)),
        "first_ns": first,
    }


def _enclosing(work: Work, periods: Periods, busy: Intervals, axis: _Axis, span: Int64s) -> Int64s:
    """Time that operators of the host spent on their own around the operators inside them."""
    outer = work.enclosing
    position = periods.index_of(outer.step)
    inside = position >= 0
    index = position[inside]
    low, high = axis.border[:-1][index], axis.border[:-1][index] + span[index]
    start = np.clip(outer.start[inside] + axis.shift[index], low, high)
    end = np.clip(outer.end[inside] + axis.shift[index], low, high)
    return axis.per_step(joined(union(start, end), busy)) - axis.per_step(busy)
