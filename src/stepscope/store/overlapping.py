"""Rows of slices that overlap without nesting: the first free one below the parent's.

A slice lies right below its parent if nothing but its ancestors is open when it starts. Only the others, here called
*crossing*, have to look for a free row: a row is the depth, moved down by as much as the nearest crossing slice above.
"""

from __future__ import annotations

import bisect
import heapq
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.arrays import NONE, Int32s, Int64s
from stepscope.store.ancestors import depths, enclosing, nearest

_PAIRS_PER_SLICE: Final = 4  # more are not listed, to bound time and memory
_STEPS_PER_SLICE: Final = 32  # of looking for them
_MOST_ROUNDS: Final = 1_000
_WORTH_A_ROUND: Final = 64  # slices, for which a loop takes longer
_SHARE_OF_A_ROUND: Final = 32  # of what waits one part is done, at least, so that the rounds are few


def lay(start: Int64s, end: Int64s, open_before: Int32s) -> tuple[Int32s, Int64s]:
    """Rows and parents of one track, sorted by start, the longest first.

    ``open_before`` is how many slices are open when each one starts.
    """
    parent = enclosing(end)
    depth = depths(parent)
    crossed = open_before - depth  # how many of the open slices are no ancestors
    crossing = np.flatnonzero(crossed)
    pairs = None
    if int(crossed.sum(dtype=np.int64)) <= _PAIRS_PER_SLICE * len(start):
        pairs = _open_strangers(start, end, parent, crossing, crossed[crossing])
    if pairs is None:
        return np.array(_rows_one_by_one(start.tolist(), end.tolist(), parent.tolist()), np.int32), parent
    number = np.full(len(start) + 1, len(crossing), np.int64)  # of a crossing slice; the last stands for none
    number[crossing] = np.arange(len(crossing))
    flagged = np.zeros(len(start), np.bool_)
    flagged[crossing] = True
    root = number[nearest(parent, flagged)]
    own, stranger = pairs
    task = _Crossing(
        depth[crossing], np.append(root, len(crossing))[parent[crossing]], own, depth[stranger], root[stranger]
    )
    row = (depth + task.shifts()[root]).astype(np.int32)
    return row, parent


def _open_strangers(
    start: Int64s, end: Int64s, parent: Int64s, crossing: Int64s, wanted: Int32s
) -> tuple[Int64s, Int64s] | None:
    """Pairs of a crossing slice, as number, and one that is open at its start and no ancestor; ordered by the first."""
    number = np.arange(len(crossing))
    moment = start[crossing]
    candidate = crossing - 1
    ancestor = parent[crossing]
    left = wanted.astype(np.int64)
    pairs: list[tuple[Int64s, Int64s]] = []
    steps = 0
    for _ in range(_MOST_ROUNDS):
        if not len(number):
            owns, strangers = (np.concatenate(part) for part in zip(*pairs, strict=True))
            order = np.argsort(owns, kind="stable")
            return owns[order], strangers[order]
        steps += len(number)
        if steps > _STEPS_PER_SLICE * len(start):
            break
        ended = end[candidate] <= moment
        inner = candidate == ancestor
        met = ~ended & ~inner
        pairs.append((number[met], candidate[met]))
        left -= met
        # What lies between an ended slice and its parent has ended too.
        candidate = np.where(ended, parent[candidate], candidate - 1)
        ancestor = np.where(inner, parent[ancestor], ancestor)
        more = left > 0
        if not more.all():
            number, moment, candidate, ancestor, left = (
                column[more] for column in (number, moment, candidate, ancestor, left)
            )
    return None


@dataclass
class _Crossing:
    """The crossing slices of a track, by number, and what is open at their start: all of it depends on earlier ones."""

    depth: Int32s
    root: Int64s  # the nearest crossing slice above, as number; their count where there is none
    own: Int64s  # pairs, ordered by this: whose start it is
    other_depth: Int32s
    other_root: Int64s

    def shifts(self) -> Int64s:
        """How much deeper than its depth each one lies; one more entry is 0 and stands for none."""
        count = len(self.depth)
        shift = np.zeros(count + 1, np.int64)
        known = np.zeros(count + 1, np.bool_)
        known[count] = True
        waiting = np.arange(count)
        pairs = np.arange(len(self.own))
        while len(waiting):
            ready = known[self.root]
            ready[self.own[pairs[~known[self.other_root[pairs]]]]] = False
            chosen = waiting[ready[waiting]]
            if len(chosen) < max(_WORTH_A_ROUND, len(waiting) // _SHARE_OF_A_ROUND):
                self._loop(waiting, shift)
                break
            now = ready[self.own[pairs]]
            shift[chosen] = self._first_free(shift, pairs[now])[chosen]
            known[chosen] = True
            waiting = waiting[~ready[waiting]]
            pairs = pairs[~now]
        return shift

    def _first_free(self, shift: Int64s, pairs: Int64s) -> Int64s:
        lowest = self.depth + shift[self.root]
        own = self.own[pairs]
        taken = self.other_depth[pairs] + shift[self.other_root[pairs]]
        below = taken >= lowest[own]
        # Rows of open slices differ, so sorted ones that follow on the lowest without a gap are a run of its numbers.
        both = np.sort(own[below] << 32 | taken[below])
        own, taken = both >> 32, both & 0xFFFFFFFF
        begins = np.flatnonzero(np.append(True, own[1:] != own[:-1])) if len(own) else np.empty(0, np.int64)
        index_in_group = np.arange(len(own)) - np.repeat(begins, np.diff(np.append(begins, len(own))))
        run = own[taken - index_in_group == lowest[own]]
        free: Int64s = shift[self.root] + np.bincount(run, minlength=len(self.depth))
        return free

    def _loop(self, waiting: Int64s, shift: Int64s) -> None:
        """The same one by one, for long chains of slices of which each waits for the one before."""
        first = np.searchsorted(self.own, waiting).tolist()
        behind = np.searchsorted(self.own, waiting, side="right").tolist()
        depths_, roots = self.other_depth.tolist(), self.other_root.tolist()
        shifts = shift.tolist()
        own = zip(waiting.tolist(), self.depth[waiting].tolist(), self.root[waiting].tolist(), strict=True)
        for (number, depth, root), low, high in zip(own, first, behind, strict=True):
            taken = {depths_[pair] + shifts[roots[pair]] for pair in range(low, high)}
            row = depth + shifts[root]
            while row in taken:
                row += 1
            shifts[number] = row - depth
        shift[:] = shifts


def _rows_one_by_one(starts: list[int], ends: list[int], parents: list[int]) -> list[int]:
    """Rows for any number of overlaps, slice by slice: free ones are looked up, so that the time stays bounded."""
    rows: list[int] = []
    busy: list[tuple[int, int]] = []  # heap of (end, row)
    free: list[int] = []  # rows whose last slice has ended, sorted
    for start, end, parent in zip(starts, ends, parents, strict=True):
        while busy and busy[0][0] <= start:
            bisect.insort(free, heapq.heappop(busy)[1])
        lowest = 0 if parent == NONE else rows[parent] + 1
        at = bisect.bisect_left(free, lowest)
        row = free.pop(at) if at < len(free) else max(lowest, len(busy) + len(free))
        free.extend(range(len(busy) + len(free), row))
        heapq.heappush(busy, (end, row))
        rows.append(row)
    return rows
