"""How long blocks live, counted in steps and in time."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.step_windows import StepWindows
from stepscope.analysis.memory.structures import Lifetime, LifetimeBin
from stepscope.arrays import Int64s

# In the order in which they are shown.
CLASSES = (
    "temporary",
    "within_step",
    "crosses_one_step_end",
    "crosses_more_step_ends",
    "outside_steps",
    "before_window",
    "to_end",
    "whole_window",
)


def classes(blocks: Blocks, windows: StepWindows) -> Int64s:
    """The class of each block's life, as its index in CLASSES; the first that fits.

    Temporary: at most one other allocation between birth and death. Blocks alive at the end live at least so long.
    """
    birth = np.zeros(len(blocks.time) + 1, np.int64)
    np.add.at(birth, blocks.born[~blocks.older] + 1, 1)
    births_before = np.cumsum(birth)  # of each state
    died, born = np.minimum(blocks.died, len(blocks.time)), np.maximum(blocks.born, 0)
    others = births_before[died] - births_before[born] - 1
    ends = windows.end
    crossed = np.searchsorted(ends, blocks.free_ns, side="right") - np.searchsorted(ends, blocks.alloc_ns, side="right")
    inside = windows.index_at(blocks.alloc_ns) >= 0
    older, stays = blocks.older, blocks.stays
    conditions = [
        older & stays,
        older,
        stays,
        others <= 1,
        ~inside,
        crossed == 0,
        crossed == 1,
    ]
    words = [
        "whole_window",
        "before_window",
        "to_end",
        "temporary",
        "outside_steps",
        "within_step",
        "crosses_one_step_end",
    ]
    return np.select(conditions, [CLASSES.index(word) for word in words], CLASSES.index("crosses_more_step_ends"))


def lifetimes(blocks: Blocks, windows: StepWindows, last_ns: int) -> list[Lifetime]:
    """Blocks, bytes and bytes times seconds per class; what stays is counted up to the last moment seen."""
    first_ns = int(blocks.time[0]) if len(blocks.time) else last_ns
    start = np.maximum(blocks.alloc_ns, first_ns)
    end = np.minimum(blocks.free_ns, max(last_ns, first_ns))
    held = blocks.bytes * ((end - start) / 1e9)
    kind = classes(blocks, windows)
    mine = [kind == number for number in range(len(CLASSES))]
    byte_seconds = np.bincount(kind, held, len(CLASSES)).tolist()
    return [
        Lifetime(name, int(own.sum()), int(blocks.bytes[own].sum()), lasting)
        for name, own, lasting in zip(CLASSES, mine, byte_seconds, strict=True)
        if own.any()
    ]


def lifetime_bins(blocks: Blocks) -> list[LifetimeBin]:
    """Freed blocks by powers of two of their life in nanoseconds."""
    whole = ~blocks.older & ~blocks.stays
    life = np.maximum(blocks.free_ns[whole] - blocks.alloc_ns[whole], 1)
    exponent = np.frexp(life.astype(np.float64))[1] - 1
    # A life just below a power of two may round up to it.
    exponent -= (np.int64(1) << exponent.astype(np.int64)) > life
    bins = (
        pl.DataFrame({"exponent": exponent.astype(np.int64), "bytes": blocks.bytes[whole]})
        .group_by("exponent")
        .agg(blocks=pl.len(), bytes=pl.col("bytes").sum())
        .sort("exponent")
    )
    return [LifetimeBin(1 << row[0], row[1], row[2]) for row in bins.iter_rows()]
