"""Whole spaces from step to step: does their growth equal that of the leaking sites?"""

from __future__ import annotations

import numpy as np

from stepscope.analysis.leaks.growth import grows
from stepscope.analysis.leaks.structures import Pool
from stepscope.analysis.leaks.trend import median_slope
from stepscope.analysis.memory.spaces import Space
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.arrays import Int64s
from stepscope.facts.memory import memory_facts

FLAT, LEAK, UNEXPLAINED, RESERVED = "flat", "leak", "unexplained_growth", "reserved_growth"


def at_step_ends(space: Space, line: str, windows: StepWindows) -> Int64s:
    """The value of a line at the end of each step."""
    row = np.searchsorted(space.time, windows.end, side="left") - 1
    return np.asarray(space.lines[line][np.maximum(row, 0)])


def pool(space: Space, windows: StepWindows, explained: float, warm_up: int) -> Pool:
    """The course of one space; ``explained`` are the bytes per step of its leaking sites."""
    held = at_step_ends(space, space.measure, windows)[warm_up - 1 :]
    reserved = at_step_ends(space, "reserved", windows)[warm_up - 1 :] if "reserved" in space.lines else None
    slope = median_slope(held)
    return Pool(
        rank=space.rank,
        device=space.device,
        pool=space.component,
        verdict=_verdict(held, reserved, slope, explained),
        steps=len(windows),
        bytes_per_step=slope,
        explained_bytes_per_step=explained,
        unexplained_bytes_per_step=slope - explained,
        reserved_bytes_per_step=None if reserved is None else median_slope(reserved),
        growth_bytes=int(held[-1] - held[0]),
        bytes_at_end=int(held[-1]),
    )


def _verdict(held: Int64s, reserved: Int64s | None, slope: float, explained: float) -> str:
    """Whether it grows, and whether leaks explain it; growth of what is only held is no leak of tensors."""
    share = memory_facts().leaks.flat_share

    def rises(line: Int64s) -> bool:
        return grows(line) and int(line[-1] - line[0]) > share * int(line[-1])

    if rises(held) and 2 * explained < slope:
        return UNEXPLAINED
    if explained > 0:
        return LEAK
    return RESERVED if reserved is not None and rises(reserved) and not rises(held) else FLAT
