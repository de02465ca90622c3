"""The slices of some rows that begin in a window or reach into it: one stretch of positions per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from stepscope.analysis.timeline.columns import RankColumns
from stepscope.arrays import NONE, Int64s

Values = TypeVar("Values", bound=npt.NDArray[Any])


@dataclass(frozen=True)
class Selection:
    """Stretches are copied whole, which is several times faster than picking positions one by one."""

    columns: RankColumns
    window: tuple[int, int]
    rows: Int64s
    low: Int64s
    high: Int64s

    def __len__(self) -> int:
        return int(self._first[-1])

    def take(self, values: Values) -> Values:
        """The values of the chosen positions, in order of row and start."""
        stretches = [values[low:high] for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)]
        return np.concatenate([values[:0], *stretches])  # type: ignore[return-value]

    def indices(self, positions: Int64s) -> Int64s:
        """Where positions stand among the chosen ones, NONE where they are not."""
        stretch = np.searchsorted(self.low, positions, side="right") - 1
        inside = (stretch >= 0) & (positions < self.high[stretch])
        return np.where(inside, self._first[stretch] + positions - self.low[stretch], NONE)

    @cached_property
    def row(self) -> Int64s:
        return np.repeat(self.rows, self.high - self.low)

    @cached_property
    def duration(self) -> Int64s:
        return self.take(self.columns.busy[1:]) - self.take(self.columns.busy[:-1])

    @cached_property
    def start(self) -> Int64s:
        """Starts, cut to the window."""
        return np.maximum(self.take(self.columns.start), self.window[0])

    @cached_property
    def end(self) -> Int64s:
        """Ends, cut to the window."""
        whole = self.take(self.columns.start) + self.duration
        return np.asarray(np.maximum(np.minimum(whole, self.window[1]), self.start), np.int64)

    @cached_property
    def _first(self) -> Int64s:
        """Number of chosen slices before each stretch, and of all."""
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.high - self.low)))


def select(columns: RankColumns, rows: Sequence[int], start: int, end: int) -> Selection:
    """The slices of ascending rows that touch a window; rows without any are left out."""
    stretches = [(row, *columns.touching(row, start, end)) for row in rows]
    kept = np.array([each for each in stretches if each[1] < each[2]], np.int64).reshape(-1, 3)
    return Selection(columns, (start, end), kept[:, 0], kept[:, 1], kept[:, 2])
