"""Steps as windows of the memory's time: each reaches to the start of the next, the last one to its own end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.arrays import Bools, Int64s
from stepscope.store.run_store import RunStore

OUTSIDE: Final = -1
# A mark for the window as a whole says nothing about steps.
_NO_MARKS: Final = "window"


@dataclass(frozen=True)
class StepWindows:
    """Complete marked steps of a rank, in time order."""

    number: Int64s
    start: Int64s
    end: Int64s

    def __len__(self) -> int:
        return len(self.number)

    def index_at(self, moment: Int64s) -> Int64s:
        """Which window each moment lies in, OUTSIDE if in none."""
        if not len(self):
            return np.full(len(moment), OUTSIDE, np.int64)
        window = np.searchsorted(self.start, moment, side="right") - 1
        return np.where((window >= 0) & (moment < self.end[window]), window, OUTSIDE)

    def number_at(self, moment: int | None) -> int | None:
        """The step that a moment lies in."""
        if moment is None:
            return None
        window = int(self.index_at(np.array([moment], np.int64))[0])
        return None if window == OUTSIDE else int(self.number[window])

    def chosen(self, steps: Sequence[int] | None) -> StepWindows:
        """Only these steps, or all."""
        if not steps:
            return self
        return self._kept(np.isin(self.number, list(steps)))

    def since(self, moment: int) -> StepWindows:
        """Only those that begin at a moment or later."""
        return self._kept(self.start >= moment)

    def _kept(self, keep: Bools) -> StepWindows:
        return StepWindows(self.number[keep], self.start[keep], self.end[keep])


def step_windows(store: RunStore, rank: int) -> StepWindows:
    """The complete steps of a rank; none where nothing marks them."""
    marks = step_marks(store, rank)
    if marks.is_empty() or (marks["marks_from"].cast(pl.String) == _NO_MARKS).all():
        nothing = np.empty(0, np.int64)
        return StepWindows(nothing, nothing, nothing)
    start = marks["host_start_ns"].to_numpy()
    last = marks["host_end_ns"].fill_null(int(start[-1])).to_numpy()[-1]
    end = np.append(start[1:], max(int(last), int(start[-1])))
    whole = ~marks["incomplete"].fill_null(False).to_numpy()
    return StepWindows(marks["step"].to_numpy()[whole], start[whole], end[whole])
