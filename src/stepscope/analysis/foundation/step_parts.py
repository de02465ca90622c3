"""How the time of each step divides: computing, exposed communication, exposed copies, idle (docs/metrics/steps.md)."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.idle import CAUSES, idle_of
from stepscope.analysis.foundation.intervals import Intervals, joined, union
from stepscope.analysis.foundation.periods import NEVER, Periods, periods_of
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.step_axis import StepAxis, work_on_axis
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE, COPY, Work, work_of
from stepscope.arrays import Bools, Int64s
from stepscope.store.run_store import RunStore

_CAUSE_COLUMNS = [f"idle_{cause}_ns" for cause in CAUSES]


@cached_summary_per_rank
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


def _own_parts(store: RunStore, rank: int, periods: Periods, work: Work) -> dict[str, Int64s]:
    """What a step's own work says, wherever it ran."""
    on_axis = work_on_axis(store, rank, periods, work)
    axis, inside, index, start, end = on_axis.axis, on_axis.inside, on_axis.step_index, on_axis.start, on_axis.end
    span = axis.span

    def of(chosen: Bools) -> Intervals:
        return union(start[chosen], end[chosen])

    is_copy, is_communication, receives = work.of(COPY)[inside], work.of(COMMUNICATION)[inside], work.receives[inside]
    leaves, communication = of(work.of(COMPUTE)[inside]), of(is_communication)
    compute = joined(leaves, _enclosing(work, periods, axis, work.enclosing.computes))
    busy = joined(compute, communication)
    # What one part has alone is what it adds to the union with the others.
    computing, communicating, together = (axis.per_step(part) for part in (compute, communication, busy))
    with_others = axis.per_step(joined(compute, of(is_communication & ~receives)))
    occupied = axis.per_step(joined(busy, of(is_copy)))
    # Other operators around others may wait inside: they compute where nothing else is known to happen.
    others = axis.per_step(joined(busy, _enclosing(work, periods, axis, ~work.enclosing.computes))) - together
    first = np.full(len(span), NEVER, np.int64)
    np.minimum.at(first, index[~is_copy], (start - axis.shift[index])[~is_copy])
    around = periods.index_of(work.enclosing.step)
    outer = around >= 0
    np.minimum.at(first, around[outer], np.maximum(work.enclosing.start[outer], axis.window_start[around[outer]]))
    return {
        "device_span_ns": span,
        "computing_ns": computing + others,
        "pure_computing_ns": together - communicating + others,
        "communication_ns": communicating,
        "overlapped_ns": communicating - (together - computing),
        "exposed_communication_ns": together - computing,
        "receive_alone_ns": together - with_others,
        "collective_alone_ns": with_others - computing,
        "exposed_copy_ns": occupied - together,
        "free_ns": span - occupied - others,
        "enclosing_ns": computing + others - axis.per_step(leaves),
        "bubble_ns": axis.per_step(of(receives)),
        "first_ns": first,
    }


def _enclosing(work: Work, periods: Periods, axis: StepAxis, chosen: Bools) -> Intervals:
    """When chosen operators of the host ran around others, on the axis of the steps."""
    outer = work.enclosing
    position = periods.index_of(outer.step)
    inside = (position >= 0) & chosen
    index = position[inside]
    return union(axis.moved(index, outer.start[inside]), axis.moved(index, outer.end[inside]))
