"""Lines over time for people: few points, and no peak lost."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.spaces import Space
from stepscope.analysis.memory.structures import CategoryCurve, Curve
from stepscope.arrays import Bools, Int64s
from stepscope.facts.memory import memory_facts


def points_per_curve(curves: int) -> int:
    """Few enough points that the answer stays small enough for a page."""
    limits = memory_facts().curves
    affordable = limits.points_in_all // max(curves, 1)
    return int(max(limits.least_points, min(limits.most_points, affordable)))


def curve(space: Space, most: int) -> Curve:
    """A space's lines; where the capture has no such line, null."""
    kept = decimated(space.time, list(space.lines.values()), most)
    shown = {name: line[kept].tolist() for name, line in space.lines.items()}
    return Curve(
        rank=space.rank,
        device=space.device,
        component=space.component,
        points=len(space.time),
        time_ns=space.time[kept].tolist(),
        allocated_bytes=shown.get("allocated"),
        active_bytes=shown.get("active"),
        reserved_bytes=shown.get("reserved"),
    )


def category_curves(blocks: Blocks, category: pl.Series, most: int) -> list[CategoryCurve]:
    """Recorded bytes in use per category; ``category`` has one word per block."""
    if not len(blocks.time):
        return []
    time = np.append(blocks.time[0], blocks.time)
    curves = []
    for word in sorted(category.unique()):
        line = blocks.running - blocks.running_without((category == word).to_numpy())
        kept = decimated(time, [line], most)
        curves.append(CategoryCurve(word, time[kept].tolist(), line[kept].tolist()))
    return curves


def decimated(time: Int64s, lines: list[Int64s], most: int) -> Int64s:
    """Places of the points to keep: per stretch of time its first and last, and each line's lowest and highest."""
    if len(time) <= most:
        return np.arange(len(time))
    stretches = max(most // (2 + 2 * len(lines)), 1)
    span = int(time[-1]) - int(time[0]) + 1
    # As floats: years in nanoseconds times a thousand stretches exceed int64; borders may be off by a hair.
    stretch = np.minimum(((time - time[0]) / span * stretches).astype(np.int64), stretches - 1)
    first = np.append(True, stretch[1:] != stretch[:-1])
    starts = np.flatnonzero(first)
    keep = first | np.append(first[1:], True)
    number = np.cumsum(first) - 1
    for line in lines:
        for extreme in (np.minimum.reduceat(line, starts), np.maximum.reduceat(line, starts)):
            keep[_first_hits(line == extreme[number], number)] = True
    return np.flatnonzero(keep)


def _first_hits(hit: Bools, number: Int64s) -> Int64s:
    hits = np.flatnonzero(hit)
    owner = number[hits]
    return np.asarray(hits[np.append(True, owner[1:] != owner[:-1])])
