"""Algebra of half-open intervals in int64 nanoseconds: by sorting and sweeping, never pairwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stepscope.arrays import Bools, Int64s


@dataclass(frozen=True)
class Intervals:
    """Disjoint intervals in time order, none empty, no two touching."""

    start: Int64s
    end: Int64s

    @property
    def length(self) -> int:
        """Total length in nanoseconds."""
        return int((self.end - self.start).sum())

    def covered_before(self, moment: Int64s) -> Int64s:
        """How much of the intervals lies before each moment."""
        before = np.concatenate(([0], np.cumsum(self.end - self.start)))
        index = np.searchsorted(self.start, moment, side="right")
        beyond = np.where(index > 0, np.maximum(self.end[index - 1] - moment, 0), 0) if len(self.start) else 0
        return np.asarray(before[index] - beyond, np.int64)

    def covered_within(self, start: Int64s, end: Int64s) -> Int64s:
        """How much of the intervals lies within each window."""
        return self.covered_before(end) - self.covered_before(start)

    def contains(self, moment: Int64s) -> Bools:
        """Whether each moment lies in an interval."""
        inside = np.searchsorted(self.start, moment, side="right") - np.searchsorted(self.end, moment, side="right")
        return inside > 0

    def clipped(self, start: int, end: int) -> Intervals:
        """The part within a window."""
        first, last = np.maximum(self.start, start), np.minimum(self.end, end)
        keep = first < last
        return Intervals(first[keep], last[keep])

    def gaps(self, start: int, end: int) -> Intervals:
        """What a window holds beside the intervals."""
        inside = self.clipped(start, end)
        first, last = np.concatenate(([start], inside.end)), np.concatenate((inside.start, [end]))
        keep = first < last
        return Intervals(first[keep].astype(np.int64), last[keep].astype(np.int64))


def union(start: Int64s, end: Int64s) -> Intervals:
    """The union of any intervals.

    >>> both = union(np.array([0, 5, 20]), np.array([10, 12, 30]))
    >>> both.start.tolist(), both.end.tolist(), both.length
    ([0, 20], [12, 30], 22)
    """
    keep = end > start
    if not keep.all():
        start, end = start[keep], end[keep]
    if not len(start):
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    first = np.concatenate(([True], start[1:] > reach[:-1]))
    starts = np.flatnonzero(first)
    return Intervals(start[starts], reach[np.concatenate((starts[1:] - 1, [len(reach) - 1]))])


def intersection(one: Intervals, other: Intervals) -> Intervals:
    """What lies in both."""
    return _combined(one, other, np.logical_and)


def difference(one: Intervals, other: Intervals) -> Intervals:
    """What lies in the first but not in the second."""
    return _combined(one, other, lambda a, b: a & ~b)


def joined(*parts: Intervals) -> Intervals:
    """What lies in any."""
    return union(np.concatenate([part.start for part in parts]), np.concatenate([part.end for part in parts]))


def expanded(first: Int64s, last: Int64s) -> tuple[Int64s, Int64s]:
    """All numbers of the ranges first..last (without last), and which range each is of.

    >>> [part.tolist() for part in expanded(np.array([3, 7, 9]), np.array([5, 7, 10]))]
    [[3, 4, 9], [0, 0, 2]]
    """
    count = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(first)), count)
    numbers = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + first[owner]
    return numbers.astype(np.int64), owner.astype(np.int64)


def _combined(one: Intervals, other: Intervals, keep: Callable[[Bools, Bools], Bools]) -> Intervals:
    edges = np.sort(np.concatenate((one.start, one.end, other.start, other.end)))
    edges = edges[np.concatenate(([True], edges[1:] != edges[:-1]))] if len(edges) else edges  # np.unique hashes
    if len(edges) < 2:
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    wanted = keep(one.contains(edges[:-1]), other.contains(edges[:-1]))
    return union(edges[:-1][wanted], edges[1:][wanted])
