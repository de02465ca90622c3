"""How slices of a track lie inside each other: rows without overlap, true parents, who contains a moment.

Intervals are half-open. A slice of no length is taken as half a nanosecond long, so that it has a place
inside the slice that surrounds it and two of them at one moment still have an order.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

# Around overlaps at a hostile depth the levels are not peeled off one by one.
_MOST_PEELS = 64
_LAID_AT_ONCE = 256  # slices, for which a look at the levels inside takes longer
_MOST_ROWS_TRIED = 64  # one after the other, for a free one
_PLAIN_STEPS = 64  # from slice to parent, before the ancestors of all slices are worked out

#: Stands for "no slice" in arrays of positions.
NONE = -1


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
            result[low:high] = members[np.argsort(self.row[members], kind="stable")]
        return result

    def containing(self, track: Int32s, moment: Int64s) -> Int64s:
        """The innermost slice of ``track`` that contains each moment, NONE where none does."""
        result = np.full(len(moment), NONE, np.int64)
        ordered_start = self.start[self.order]
        for number in np.unique(track):
            if not 0 <= number < len(self._track_first) - 1:
                continue
            low, high = self._track_first[number], self._track_first[number + 1]
            asked = np.flatnonzero(track == number)
            at = low + np.searchsorted(ordered_start[low:high], moment[asked], side="right") - 1
            found = np.where(at >= low, self.order[np.maximum(at, 0)], NONE)
            result[asked] = self._climb(found, moment[asked])
        return result

    def _climb(self, found: Int64s, moment: Int64s) -> Int64s:
        """From the last slice to start before each moment to the first one around it that holds the moment."""
        late = np.flatnonzero(found != NONE)
        for _ in range(_PLAIN_STEPS):
            late = late[~self._holds(found[late], moment[late])]
            if not len(late):
                return found
            found[late] = self.parent[found[late]]
            late = late[found[late] != NONE]
        late = late[~self._holds(found[late], moment[late])]
        if not len(late):
            return found
        # Ancestors end later and later, so steps of halving length find the last that does not hold the moment.
        place = found[late]
        for up in reversed(self._ancestors()):
            above = up[place]
            skips = above != NONE
            skips[skips] = ~self._holds(above[skips], moment[late][skips])
            place = np.where(skips, above, place)
        found[late] = self.parent[place]
        return found

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
    by_track = np.argsort(track, kind="stable")
    first = np.searchsorted(track[by_track], np.arange(int(track.max()) + 2 if count else 1))
    row = np.zeros(count, np.int32)
    parent = np.full(count, NONE, np.int64)
    for low, high in itertools.pairwise(first):
        members = by_track[low:high]
        twice_start = start[members] * 2
        twice_end = np.where(dur[members] > 0, (start[members] + dur[members]) * 2, twice_start + 1)
        order = _by_start(twice_start, twice_end)
        members = members[order]
        by_track[low:high] = members
        row[members], inner = _nest_one(twice_start[order], twice_end[order])
        parent[members] = np.where(inner == NONE, NONE, members[inner])
    return Nesting(by_track, row, parent, track, start, start + dur, first)


def nearest(parent: Int64s, flagged: Bools) -> Int64s:
    """For each slice, itself or its closest ancestor that is flagged, else NONE.

    >>> nearest(np.array([-1, 0, 1]), np.array([True, False, False])).tolist()
    [0, 0, 0]
    """
    # One more place at the end stands for NONE, and points to itself. Half the width is half the memory to go through.
    count = len(parent)
    if not count:
        return np.empty(0, np.int64)  # NumPy copies from an empty array of Polars' making at address zero
    up = np.full(count + 1, count, np.int32 if count < 1 << 31 else np.int64)
    np.copyto(up[:-1], parent, where=parent != NONE, casting="unsafe")
    np.copyto(up[:-1], np.arange(count, dtype=up.dtype), where=flagged)
    while True:
        further = up[up]
        if np.array_equal(further, up):
            break
        up = further
    found = up[:-1].astype(np.int64)
    found[found == count] = NONE
    return found


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
    depth = (np.arange(count) - np.searchsorted(np.sort(end), start, side="right")).astype(np.int32)
    parent = np.full(count, NONE, np.int64)
    by_depth = np.argsort(depth, kind="stable")
    level_first = np.searchsorted(depth[by_depth], np.arange(int(depth.max()) + 2 if count else 1))
    above = by_depth[: level_first[1]] if count else by_depth
    for low, high in itertools.pairwise(level_first[1:]):
        here = by_depth[low:high]
        parent[here] = above[np.searchsorted(above, here) - 1]
        above = here
    inside = parent == NONE
    inside[~inside] = end[~inside] <= end[parent[~inside]]
    if not inside.all():
        _lay_overlapping(start, end, depth, parent, inside)
    return depth, parent


def _lay_overlapping(start: Int64s, end: Int64s, row: Int32s, parent: Int64s, inside: Bools) -> None:
    """Mend the stretches in which slices overlap without nesting, one slice after the other.

    ``row`` comes in as the number of slices open at each start. Where it falls back to a level at which one slice
    contains all that follows, the stretches between are independent of each other, so only small ones that hold an
    overlap are laid by hand.
    """
    depth = row.copy()
    faults = np.flatnonzero(~inside)
    stretches = [(0, len(start), 0, NONE)]  # first, behind the last, level, the slice around it all
    while stretches:
        low, high, level, around = stretches.pop()
        tops = low + np.flatnonzero(depth[low:high] == level)
        limits = np.append(tops, high)
        here = faults[np.searchsorted(faults, low) : np.searchsorted(faults, high)]
        for place in np.unique(np.searchsorted(tops, here, side="right") - 1):
            first, behind = int(limits[place]), int(limits[place + 1])
            large = behind - first > _LAID_AT_ONCE
            if large and level < _MOST_PEELS and end[first] >= end[first:behind].max():
                row[first], parent[first] = level, around
                stretches.append((first + 1, behind, level + 1, first))
                continue
            rows, parents = _lay_stretch(start[first:behind].tolist(), end[first:behind].tolist())
            row[first:behind] = np.array(rows, np.int32) + level
            parent[first:behind] = [around if inner == NONE else first + inner for inner in parents]


def _lay_stretch(starts: list[int], ends: list[int]) -> tuple[list[int], list[int]]:
    """Rows and parents, slice by slice: the first row below the parent's that is free."""
    rows: list[int] = []
    parents: list[int] = []
    around: list[int] = []  # candidates for parent: later ones end earlier, the others can contain no more
    row_ends: list[int] = []  # when the last slice of each row ends
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while around and ends[around[-1]] < end:
            around.pop()
        parent = around[-1] if around else NONE
        row = rows[parent] + 1 if around else 0
        while row < len(row_ends) and row_ends[row] > start:
            row += 1
        if row == len(row_ends):
            if row == _MOST_ROWS_TRIED:
                return _lay_wide_stretch(starts, ends)
            row_ends.append(end)
        else:
            row_ends[row] = end
        rows.append(row)
        parents.append(parent)
        around.append(number)
    return rows, parents


def _lay_wide_stretch(starts: list[int], ends: list[int]) -> tuple[list[int], list[int]]:
    """The same for any number of rows: free ones are looked up, not tried, so that the time stays bounded."""
    rows: list[int] = []
    parents: list[int] = []
    around: list[int] = []  # candidates for parent: later ones end earlier, the others can contain no more
    busy: list[tuple[int, int]] = []  # heap of (end, row)
    free: list[int] = []  # rows whose last slice has ended, sorted
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while busy and busy[0][0] <= start:
            bisect.insort(free, heapq.heappop(busy)[1])
        while around and ends[around[-1]] < end:
            around.pop()
        parent = around[-1] if around else NONE
        lowest = 0 if parent == NONE else rows[parent] + 1
        at = bisect.bisect_left(free, lowest)
        row = free.pop(at) if at < len(free) else max(lowest, len(busy) + len(free))
        free.extend(range(len(busy) + len(free), row))
        heapq.heappush(busy, (end, row))
        rows.append(row)
        parents.append(parent)
        around.append(number)
    return rows, parents
