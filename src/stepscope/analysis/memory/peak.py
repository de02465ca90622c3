"""The highest moment of a space, and the state of its blocks then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.spaces import Space, residual
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.arrays import Int64s


@dataclass(frozen=True)
class Moment:
    """A moment of a space: what its line says then, and the state of its blocks (null without blocks)."""

    time_ns: int | None
    bytes: int
    row: int  # of the space's lines; -1 before them
    state: int | None


def peak(space: Space, windows: StepWindows | None = None) -> Moment:
    """The first highest moment, within the steps given or ever."""
    time, line = space.time, space.line
    if not len(line):
        return Moment(None, 0, -1, None)
    rows = np.arange(len(line))
    if windows is not None:
        rows = _rows_within(time, windows)
        if not len(rows):
            return Moment(None, 0, -1, None)
    row = int(rows[np.argmax(line[rows])])
    moment, value = int(time[row]), int(line[row])
    if space.blocks is None:
        return Moment(moment, value, row, None)
    return Moment(moment, value, row, row if not space.stated else _state(space, space.blocks, row))


def moment_at(space: Space, time_ns: int) -> Moment:
    """What is in use at a moment; before the first point, what was in use then."""
    row = max(int(np.searchsorted(space.time, time_ns, side="right")) - 1, 0)
    value = int(space.line[row]) if len(space.line) else 0
    state = None if space.blocks is None else space.blocks.state_at(time_ns)
    return Moment(time_ns, value, row, state)


def _rows_within(time: Int64s, windows: StepWindows) -> Int64s:
    """Points whose values apply within the windows: those inside, and the last one before each window."""
    first = np.searchsorted(time, windows.start, side="right") - 1
    last = np.searchsorted(time, windows.end, side="left")
    rows = [np.arange(max(low, 0), high) for low, high in zip(first.tolist(), last.tolist(), strict=True)]
    return np.unique(np.concatenate([np.empty(0, np.int64), *rows])).astype(np.int64)


def _state(space: Space, blocks: Blocks, row: int) -> int:
    """The state of the blocks that a point of the line belongs to.

    Several events may share the point's time: it is the one after which line and blocks differ by as much as they do
    when all of that time is over.
    """
    moment = int(space.time[row])
    first = int(np.searchsorted(blocks.time, moment, side="left"))
    last = int(np.searchsorted(blocks.time, moment, side="right"))
    moments, rest = residual(space.time, space.line, blocks)
    expected = int(space.line[row]) - int(rest[np.searchsorted(moments, moment)])
    fits = np.flatnonzero(blocks.running[first : last + 1] == expected)
    return first + int(fits[0]) if len(fits) else last
