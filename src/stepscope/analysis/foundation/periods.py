"""How long is a step? Its stretch of the rank's time, the one denominator of all answers (docs/metrics/steps.md).

A step lasts from the end of all earlier device work to the end of its own. So periods follow each other: no instant is
counted twice or lost, and their mean is the throughput, also where the host runs steps ahead. Without an accelerator a
step's period is its window on the host.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.capture_limits import compute_is_hidden
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.unseen_work import unseen_work
from stepscope.analysis.foundation.work import COMPUTE, Work, work_of
from stepscope.arrays import Bools, Int64s
from stepscope.facts.steps import steps_facts
from stepscope.store.run_store import RunStore

#: Stands for a moment that is not known.
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Periods:
    """The steps of a rank in the order of their marks. Moments are nanoseconds; NEVER where a step has no work."""

    step: Int64s
    start: Int64s
    end: Int64s
    work_start: Int64s  # first and last moment of the step's own work
    work_end: Int64s
    known: Bools  # whether the capture tells what ran in the step; a step without work may be a stall, or not recorded
    unseen: tuple[int, int] = (0, 0)  # when work from before the window held the first step up that the file lacks

    def index_of(self, step: Int64s) -> Int64s:
        """Position of each step number, -1 where there is no such step."""
        order = np.argsort(self.step, kind="stable")
        if not len(order):
            return np.full(len(step), -1, np.int64)
        position = order[np.minimum(np.searchsorted(self.step[order], step), len(order) - 1)]
        return np.where(self.step[position] == step, position, -1)

    def at(self, moment: Int64s) -> Int64s:
        """Position of the period that holds each moment, -1 outside of all."""
        if not len(self.step):
            return np.full(len(moment), -1, np.int64)
        order = np.argsort(self.start, kind="stable")
        position = order[np.maximum(np.searchsorted(self.start[order], moment, side="right") - 1, 0)]
        return np.where((moment >= self.start[position]) & (moment < self.end[position]), position, -1)


@cached_summary_per_rank
def periods_of(store: RunStore, rank: int) -> Periods:
    """The periods of a rank; none where nothing marks a step."""
    marks = step_marks(store, rank)
    if marks.is_empty():
        nothing = np.empty(0, np.int64)
        return Periods(nothing, nothing, nothing, nothing, nothing, np.empty(0, np.bool_))
    work = work_of(store, rank)
    step, host_start = marks["step"].to_numpy(), marks["host_start_ns"].to_numpy()
    host_end = marks["host_end_ns"].fill_null(marks["host_start_ns"]).to_numpy()
    position = _positions(step, work)
    mine = position >= 0
    work_start, work_end = _own_extent(position[mine], work.start[mine], work.end[mine], len(step))
    has_work = work_start != NEVER
    computes = bool((work.of(COMPUTE) & mine).any()) and not compute_is_hidden(store, rank)
    if not work.on_device or not has_work.any() or compute_is_hidden(store, rank):
        end, known = np.maximum(host_end, host_start), np.full(len(step), computes)
        if not work.on_device:
            work_start, work_end = host_start, end  # a host that computes by itself works in no other time
        return Periods(step, host_start, end, work_start, work_end, known)
    # A stall ends with its mark; a step of which nothing was recorded too, for want of anything better.
    reached = np.maximum.accumulate(np.where(has_work, work_end, host_end))
    unseen = unseen_work(store, work, int(step[0]))
    first = max(_first_start(marks, work, host_start, work_start), unseen[1])
    start = np.concatenate(([min(first, reached[0])], reached[:-1]))
    # Too many steps without any work are no stalls: their work was not recorded.
    recorded = has_work | (has_work.mean() >= steps_facts().stall.least_share_with_work)
    return Periods(step, start, reached, work_start, work_end, recorded & computes, unseen)


def _positions(step: Int64s, work: Work) -> Int64s:
    """Position of each work slice's step, -1 outside of all."""
    order = np.argsort(step, kind="stable")
    position = order[np.minimum(np.searchsorted(step[order], work.step), len(order) - 1)]
    return np.where((step[position] == work.step) & work.in_step, position, -1)


def _own_extent(position: Int64s, start: Int64s, end: Int64s, count: int) -> tuple[Int64s, Int64s]:
    first, last = np.full(count, NEVER, np.int64), np.full(count, np.iinfo(np.int64).min, np.int64)
    np.minimum.at(first, position, start)
    np.maximum.at(last, position, end)
    return first, np.where(first == NEVER, NEVER, last)


def _first_start(marks: pl.DataFrame, work: Work, host_start: Int64s, work_start: Int64s) -> int:
    """Where the first period begins: on the host, or when the recorded work from before the window was done."""
    start = int(host_start[0])
    if marks["marks_from"][0] == "window":
        # Nothing marks this step; how long the host took to launch its first work is not the step's.
        start = max(start, int(work_start[work_start != NEVER].min()))
    return max(start, int(work.end[work.before_window].max(initial=start)))
