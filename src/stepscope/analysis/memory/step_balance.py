"""What each step took, gave back and kept, and how far its memory moved."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.spaces import Space
from stepscope.analysis.memory.step_windows import OUTSIDE, StepWindows
from stepscope.analysis.memory.structures import StepBalance
from stepscope.arrays import Int64s


def step_balance(space: Space, windows: StepWindows) -> list[StepBalance]:
    """One row per step; survivors are blocks born in the step and alive at its end."""
    if not len(windows) or not len(space.line):
        return []
    first = np.maximum(np.searchsorted(space.time, windows.start, side="right") - 1, 0)
    last = np.maximum(np.searchsorted(space.time, windows.end, side="left"), first + 1)
    columns = _of_blocks(space.blocks, windows)
    rows = []
    for window in range(len(windows)):
        stretch = space.line[first[window] : last[window]]
        highest, lowest = int(stretch.max()), int(stretch.min())
        rows.append(
            StepBalance(
                step=int(windows.number[window]),
                peak_bytes=highest,
                min_bytes=lowest,
                min_max_share=lowest / highest if highest else None,
                **{name: int(values[window]) for name, values in columns.items()},
            )
        )
    return rows


def _of_blocks(blocks: Blocks | None, windows: StepWindows) -> dict[str, Int64s]:
    def total(index: Int64s, weight: Int64s) -> Int64s:
        sums = np.zeros(len(windows), np.int64)
        np.add.at(sums, index[index != OUTSIDE], weight[index != OUTSIDE])
        return sums

    if blocks is None:
        nothing = np.zeros(len(windows), np.int64)
        names = ("allocations", "allocated_bytes", "freed_bytes", "net_bytes", "survivors", "survivor_bytes")
        return dict.fromkeys(names, nothing)
    born, died = windows.index_at(blocks.alloc_ns), windows.index_at(blocks.free_ns)
    survives = np.where(born == OUTSIDE, False, blocks.free_ns >= np.append(windows.end, 0)[born])
    one = np.ones(len(born), np.int64)
    taken, given = total(born, blocks.bytes), total(died, blocks.bytes)
    return {
        "allocations": total(born, one),
        "allocated_bytes": taken,
        "freed_bytes": given,
        "net_bytes": taken - given,
        "survivors": total(born, survives * one),
        "survivor_bytes": total(born, survives * blocks.bytes),
    }
