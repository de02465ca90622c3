"""Chains of parents: who is above whom, for all slices at once, by steps that double."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.arrays import NONE, Bools, Int32s, Int64s

_MOST_ROUNDS: Final = 64  # before a hostile shape is gone through slice by slice


def nearest(parent: Int64s, flagged: Bools) -> Int64s:
    """For each slice, itself or its closest ancestor that is flagged, else NONE.

    >>> nearest(np.array([-1, 0, 1]), np.array([True, False, False])).tolist()
    [0, 0, 0]
    """
    count = len(parent)
    if not count:
        return np.empty(0, np.int64)  # NumPy copies from an empty array of Polars' making at address zero
    up = np.append(parent, NONE)  # the last entry stands for NONE, and points to itself
    np.copyto(up[:-1], np.arange(count), where=flagged)
    while True:
        further = up[up]
        if np.array_equal(further, up):
            return up[:-1]
        up = further


def enclosing(end: Int64s) -> Int64s:
    """For each slice the last one before it that does not end earlier, else NONE.

    >>> enclosing(np.array([10, 6, 8, 12])).tolist()
    [-1, 0, 0, -1]
    """
    count = len(end)
    up = np.arange(-1, count - 1)
    ends = np.append(end, np.iinfo(np.int64).max)  # the last entry stands for NONE
    low = np.flatnonzero(ends[up] < end)
    for _ in range(_MOST_ROUNDS):
        if not len(low):
            return up
        # All between a slice and where its pointer leads end earlier than the slice.
        up[low] = up[up[low]]
        low = low[ends[up[low]] < end[low]]
    return _enclosing_one_by_one(end) if len(low) else up


def depths(parent: Int64s) -> Int32s:
    """How many ancestors each slice has.

    >>> depths(np.array([-1, 0, 1, 0])).tolist()
    [0, 1, 2, 1]
    """
    up = np.append(parent, NONE)  # the last entry stands for NONE
    inside = up != NONE
    depth: Int32s = inside.astype(np.int32)
    while bool(inside.any()):
        depth += depth[up]
        up = up[up]
        inside = up != NONE
    return depth[:-1]


def _enclosing_one_by_one(end: Int64s) -> Int64s:
    parents = []
    open_: list[int] = []  # later ones end earlier, the others can contain no more
    ends = end.tolist()
    for number, own in enumerate(ends):
        while open_ and ends[open_[-1]] < own:
            open_.pop()
        parents.append(open_[-1] if open_ else NONE)
        open_.append(number)
    return np.array(parents, np.int64)
