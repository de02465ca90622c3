"""To which step a moment belongs: by the steps' marks where they share its clock, else by the times of the batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.arrays import Int64s

_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True)
class StepClock:
    """Windows in time order; ``number`` is the step's, or the batch's where steps have another clock."""

    start: Int64s
    end: Int64s
    number: Int64s
    by_batch: bool = False

    def at(self, moments: Int64s) -> pl.Series:
        """The step at each moment, null between and outside them."""
        step = np.searchsorted(self.start, moments, side="right") - 1
        inside = (step >= 0) & (moments < self.end[step]) if len(self.start) else np.zeros(len(moments), bool)
        numbers = self.number[step] if len(self.start) else np.zeros(len(moments), np.int64)
        return pl.DataFrame({"number": numbers, "inside": inside}).select(pl.when("inside").then("number")).to_series()

    def covers(self, moments: Int64s) -> bool:
        """Whether any of the moments can lie in a window."""
        return bool(
            len(self.start) and len(moments) and moments.max() >= self.start[0] and moments.min() < self.end[-1]
        )


def step_clock(marks: pl.DataFrame, batches: pl.DataFrame, moments: Int64s) -> StepClock | None:
    """The clock that fits the moments, None if nothing does.

    A batch's window reaches from the moment it was handed over to that of the next one.
    """
    if not marks.is_empty():
        start, end, number = (marks[name].to_numpy() for name in ("host_start_ns", "host_end_ns", "step"))
        clock = StepClock(start, end, number)
        if clock.covers(moments):
            return clock
    numbered = batches.select("time_ns", number=pl.coalesce("step", "batch")).drop_nulls()
    if len(numbered) and len(numbered) == len(batches):
        ordered = numbered.sort("time_ns", maintain_order=True)
        start, number = ordered["time_ns"].to_numpy(), ordered["number"].to_numpy()
        clock = StepClock(start, np.append(start[1:], _FAR), number, by_batch=True)
        if clock.covers(moments):
            return clock
    return None
