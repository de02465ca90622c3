"""How slices of a track lie inside each other: rows without overlap, true parents, who contains a moment.

Intervals are half-open. A slice of no length is taken as half a nanosecond long, so that it has a place
inside the slice that surrounds it and two of them at one moment still have an order.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from stepscope.arrays import NONE, Bools, Int32s, Int64s
from stepscope.store.ancestors import nearest
from stepscope.store.overlapping import lay

__all__ = ["NONE", "Nesting", "nearest", "nest"]


_PLAIN_STEPS = 64  # from slice to parent, before the ancestors of all slices are worked out


@dataclass
class Nesting:
    """Positions refer to the arrays given to :func:`nest`."""

    order: Int64s  # positions sorted by (track, start, longest first, given order)
    row: Int32s  # per position
    parent: Int64s  # per position, NONE at the top
    track: Int32s
    start: Int64s
    end: Int64s
    _track_first: Int64s  # where each track begins in ``order``

    def by_row(self) -> Int64s:
        """Positions sorted by track, row and start."""
        result = self.order.copy()
        for low, high in itertools.pairwise(self._track_first):
            members = self.order[low:high]
            result[low:high] = members[_sorted_places(self.row[members])]
        return result

    def containing(self, track: Int32s, moment: Int64s) -> Int64s:
        """The innermost slice of ``track`` that contains each moment, NONE where none does."""
        result = np.full(len(moment), NONE, np.int64)
        known = np.flatnonzero((track >= 0) & (track < len(self._track_first) - 1))
        asked = known[_sorted_places(track[known])]
        numbers, counts = np.unique(track[asked], return_counts=True)
        for number, own in zip(numbers.tolist(), np.split(asked, np.cumsum(counts)[:-1]), strict=False):
            members = self.order[self._track_first[number] : self._track_first[number + 1]]
            at = np.searchsorted(self.start[members], moment[own], side="right") - 1
            result[own] = self._climb(np.append(members, NONE)[at], moment[own])
        return result

    def _climb(self, candidate: Int64s, moment: Int64s) -> Int64s:
        """From the last slice to start before each moment to the first one around it that holds the moment."""
        late = np.flatnonzero(candidate != NONE)
        for _ in range(_PLAIN_STEPS):
            late = late[~self._holds(candidate[late], moment[late])]
            if not len(late):
                return candidate
            candidate[late] = self.parent[candidate[late]]
            late = late[candidate[late] != NONE]
        late = late[~self._holds(candidate[late], moment[late])]
        if not len(late):
            return candidate
        # Ancestors end later and later, so steps of halving length find the last that does not hold the moment.
        skipping = candidate[late]
        for up in reversed(self._ancestors()):
            above = up[skipping]
            skips = above != NONE
            skips[skips] = ~self._holds(above[skips], moment[late][skips])
            skipping = np.where(skips, above, skipping)
        candidate[late] = self.parent[skipping]
        return candidate

    def _ancestors(self) -> list[Int64s]:
        """For each slice its parent, its ancestor two above, four above, and so on."""
        steps = [self.parent]
        while bool((steps[-1] != NONE).any()):
            last = steps[-1]
            steps.append(np.where(last == NONE, NONE, last[last]))
        return steps[:-1]

    def _holds(self, slices: Int64s, moment: Int64s) -> Bools:
        end = self.end[slices]
        holds: Bools = (moment < end) | ((moment == end) & (end == self.start[slices]))
        return holds


def nest(track: Int32s, start: Int64s, dur: Int64s) -> Nesting:
    """Lay the slices of each track onto rows. Tracks are numbered from 0; ``dur`` is not negative.

    A slice's parent is the innermost one that contains it whole. Its row is the first below its parent's
    on which it overlaps nothing, which is its depth where everything nests.

    >>> nested = nest(np.zeros(3, np.int32), np.array([0, 2, 4]), np.array([10, 4, 8]))
    >>> nested.row.tolist(), nested.parent.tolist()  # the third sticks out of the first
    ([0, 1, 2], [-1, 0, -1])
    """
    count = len(start)
    by_track = _sorted_places(track)
    first = np.searchsorted(track[by_track], np.arange(int(track.max()) + 2 if count else 1))
    row = np.zeros(count, np.int32)
    parent = np.full(count, NONE, np.int64)
    for low, high in itertools.pairwise(first):
        members = by_track[low:high]
        twice_start, twice_end = start[members], dur[members]
        twice_start *= 2
        twice_end *= 2
        np.maximum(twice_end, 1, out=twice_end)
        twice_end += twice_start
        order = _by_start(twice_start, twice_end)
        members = members[order]
        by_track[low:high] = members
        row[members], inner = _nest_one(twice_start[order], twice_end[order])
        parent[members] = np.append(members, NONE)[inner]
    return Nesting(by_track, row, parent, track, start, start + dur, first)


def _sorted_places(numbers: Int32s) -> Int64s:
    """The order of the numbers, equal ones as given; none is negative. Small numbers are sorted without comparisons."""
    largest = int(numbers.max()) if len(numbers) else 0
    return np.argsort(numbers.astype(np.min_scalar_type(largest)), kind="stable")


def _by_start(start: Int64s, end: Int64s) -> Int64s:
    """Sorted by start, the longest first, then as given."""
    order = np.argsort(start, kind="stable")
    ordered_start, ordered_end = start[order], end[order]
    ties = ordered_start[1:] == ordered_start[:-1]
    if bool((ties & (ordered_end[1:] > ordered_end[:-1])).any()):
        return np.lexsort((-end, start))
    return order


def _nest_one(start: Int64s, end: Int64s) -> tuple[Int32s, Int64s]:
    """Rows and parents of one track whose slices are sorted by start, the longest first."""
    count = len(start)
    # How many slices are open when this one starts: all before it, less those that have ended.
    depth = np.arange(count, dtype=np.int32)
    np.subtract(depth, np.searchsorted(np.sort(end), start, side="right"), out=depth, casting="unsafe")
    # A first child directly follows its parent; the next of the same depth are its siblings, up to a new first child.
    by_depth = _sorted_places(depth)
    first_child = np.zeros(count, np.bool_)
    first_child[1:] = depth[1:] > depth[:-1]
    eldest = np.maximum.accumulate(np.where(first_child[by_depth], np.arange(count), 0))
    parent = np.empty(count, np.int64)
    parent[by_depth] = by_depth[eldest] - 1
    parent[depth == 0] = NONE
    ends = np.append(end, np.iinfo(np.int64).max)  # the last entry stands for NONE
    return (depth, parent) if bool((ends[parent] >= end).all()) else lay(start, end, depth)
