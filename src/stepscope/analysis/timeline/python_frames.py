"""Python frames on tracks of their own: a thread's operators and launches are then as deep as they nest, not as deep as
the program's call stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import Int32s
from stepscope.store.nesting import nest
from stepscope.store.schema import SLICE_KINDS

_PYTHON: Final = SLICE_KINDS.index("python")


@dataclass(frozen=True)
class FrameLayout:
    """Track and depth of each slice; ``python_of`` names the new tracks and the thread that each was taken from."""

    track: Int32s
    depth: Int32s
    python_of: dict[int, int]


def apart(slices: pl.DataFrame, first_free: int) -> FrameLayout:
    """The slices of a rank with Python frames moved to new tracks, numbered from ``first_free``.

    Threads without Python frames keep the rows they were stored with.
    """
    track, depth = slices["track"].to_numpy(), slices["row"].to_numpy()
    is_python = slices["kind"].to_physical().fill_null(len(SLICE_KINDS)).to_numpy() == _PYTHON
    threads = np.unique(track[is_python]).tolist()
    if not threads:
        return FrameLayout(track, depth, {})
    track, depth = track.copy(), depth.copy()
    moved = np.flatnonzero(np.isin(track, threads))
    # Thread by thread, its other slices first: numbers from 0, as rows are laid out per track.
    part = 2 * np.searchsorted(threads, track[moved]) + is_python[moved]
    start, duration = slices["start_ns"].to_numpy()[moved], slices["dur_ns"].to_numpy()[moved]
    depth[moved] = nest(part.astype(np.int32), start, duration).row
    python_of = {first_free + index: thread for index, thread in enumerate(threads)}
    track[is_python] = first_free + np.searchsorted(threads, track[is_python])
    return FrameLayout(track, depth, python_of)
