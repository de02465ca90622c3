"""Each nanosecond of a step's busy time credited to one slice, so that sums over slices are the parts of the step.

Slices overlap (streams, threads, nested operators); a sum of durations would count such moments twice. Here a moment
belongs to the slice that began first; of nested host operators, to the innermost.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, joined, union
from stepscope.analysis.foundation.periods import Periods, periods_of
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.analysis.foundation.step_axis import StepAxis, work_on_axis
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE, COPY, Work, work_of
from stepscope.arrays import Bools, Int64s
from stepscope.store.run_store import RunStore

COMPUTING: Final = "computing"
EXPOSED_COMMUNICATION: Final = "exposed_communication"
EXPOSED_COPY: Final = "exposed_copy"
PARTS: Final = (COMPUTING, EXPOSED_COMMUNICATION, EXPOSED_COPY)
_PART: Final = pl.Enum(PARTS)


def credited_slices(store: RunStore, rank: int) -> pl.DataFrame:
    """``slice``, ``step``, ``part``, ``credit_ns``: per step and part the credits add up to the field of ``steps``."""
    periods, work = periods_of(store, rank), work_of(store, rank)
    on_axis = work_on_axis(store, rank, periods, work)
    slices, steps = work.slice[on_axis.inside], work.step[on_axis.inside]
    credit = np.zeros(len(slices), np.int64)
    part = np.zeros(len(slices), np.int64)
    covered = union(np.empty(0, np.int64), np.empty(0, np.int64))
    for number, lane in enumerate((COMPUTE, COMMUNICATION, COPY)):
        chosen = np.flatnonzero(work.of(lane)[on_axis.inside])
        start, end = on_axis.start[chosen], on_axis.end[chosen]
        credit[chosen] = exclusive(start, end, covered)
        part[chosen] = number
        covered = joined(covered, union(start, end))
        if lane == COMPUTE:
            around, covered = _enclosing(store, work, periods, on_axis.axis, covered, work.enclosing.computes)
    others, _ = _enclosing(store, work, periods, on_axis.axis, covered, ~work.enclosing.computes)
    return pl.concat([_rows(slices, steps, part, credit), around, others])


def exclusive(start: Int64s, end: Int64s, taken: Intervals) -> Int64s:
    """What each interval covers that is neither taken nor covered by an interval that began before it.

    >>> nothing = union(np.empty(0, np.int64), np.empty(0, np.int64))
    >>> exclusive(np.array([0, 5, 2]), np.array([6, 9, 3]), nothing).tolist()
    [6, 3, 0]
    """
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate(end[order]) if len(order) else end
    before = np.concatenate(([np.iinfo(np.int64).min], reach[:-1]))
    first = np.minimum(np.maximum(start[order], before), end[order])
    credit = np.empty(len(start), np.int64)
    credit[order] = end[order] - first - taken.covered_within(first, end[order])
    return credit


def _enclosing(
    store: RunStore, work: Work, periods: Periods, axis: StepAxis, taken: Intervals, chosen: Bools
) -> tuple[pl.DataFrame, Intervals]:
    """Operators of a host around others, the innermost first: each has what those within it leave."""
    outer = work.enclosing
    position = periods.index_of(outer.step)
    inside = (position >= 0) & chosen
    slices, index = outer.slice[inside], position[inside]
    start, end = axis.moved(index, outer.start[inside]), axis.moved(index, outer.end[inside])
    depth = _depth(store, work.rank, slices)
    credit = np.zeros(len(slices), np.int64)
    for level in np.unique(depth)[::-1]:
        nested = depth == level
        credit[nested] = exclusive(start[nested], end[nested], taken)
        taken = joined(taken, union(start[nested], end[nested]))
    return _rows(slices, outer.step[inside], np.zeros(len(slices), np.int64), credit), taken


def _depth(store: RunStore, rank: int, slices: Int64s) -> Int64s:
    if not len(slices):
        return slices
    rows = slices_of(store, rank).select(pl.col("slice").cast(pl.Int64), "row").collect()
    chosen = pl.DataFrame({"slice": slices}).join(rows, on="slice", how="left", maintain_order="left")
    return chosen["row"].cast(pl.Int64).to_numpy()


def _rows(slices: Int64s, steps: Int64s, part: Int64s, credit: Int64s) -> pl.DataFrame:
    return pl.DataFrame(
        {"slice": slices, "step": steps, "part": pl.Series(PARTS, dtype=_PART).gather(part), "credit_ns": credit},
    )
