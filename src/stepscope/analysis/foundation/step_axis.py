"""The work of a rank with each step moved to a stretch of its own on one axis, because steps overlap on a device.

All steps can then be swept at once, and what is found on the axis belongs to one step alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.foundation.intervals import Intervals
from stepscope.analysis.foundation.periods import NEVER, Periods
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.work import Work
from stepscope.arrays import Bools, Int64s
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class StepAxis:
    """``border`` are the edges of the steps, ``shift`` is what to add to a step's moments, ``window_start`` where it
    begins in time; ``span`` is its length."""

    border: Int64s
    shift: Int64s
    window_start: Int64s
    span: Int64s

    def per_step(self, intervals: Intervals) -> Int64s:
        """How much of the intervals lies in each step."""
        return intervals.covered_within(self.border[:-1], self.border[1:])

    def moved(self, step_index: Int64s, moments: Int64s) -> Int64s:
        """Moments on the axis, clipped to their step."""
        low = self.border[:-1][step_index]
        return np.asarray(np.clip(moments + self.shift[step_index], low, low + self.span[step_index]), np.int64)


@dataclass(frozen=True)
class WorkOnAxis:
    """The work slices that belong to a step: ``inside`` says which, the others are arrays over those."""

    axis: StepAxis
    inside: Bools
    step_index: Int64s
    start: Int64s
    end: Int64s


def work_on_axis(store: RunStore, rank: int, periods: Periods, work: Work) -> WorkOnAxis:
    """A device's step reaches from its first to its last work, a host's is its window."""
    position = periods.index_of(work.step)
    inside = (position >= 0) & work.in_step
    if work.on_device:
        has_work = periods.work_start != NEVER
        window_start = np.where(has_work, periods.work_start, 0)
        span = np.where(has_work, periods.work_end - periods.work_start, 0)
    else:
        marks = step_marks(store, rank)
        window_start = marks["host_start_ns"].to_numpy()
        span = marks["host_end_ns"].fill_null(marks["host_start_ns"]).to_numpy() - window_start
    border = np.concatenate(([0], np.cumsum(span)))
    axis = StepAxis(border, border[:-1] - window_start, window_start, span)
    index = position[inside]
    return WorkOnAxis(axis, inside, index, axis.moved(index, work.start[inside]), axis.moved(index, work.end[inside]))
