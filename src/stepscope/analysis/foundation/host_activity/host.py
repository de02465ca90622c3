"""The host's slices of a rank, and two questions to them: how an interval divides, and which slice tells it best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity.categories import CATEGORIES, OTHER
from stepscope.analysis.foundation.intervals import Intervals, expanded, joined, union
from stepscope.arrays import NONE, Bools, Int8s, Int64s
from stepscope.facts.host_activity import host_activity_facts

_PROFILER: Final = CATEGORIES.index("profiler")

#: Asks all threads at once, where nobody knows which one matters.
ALL: Final = -2


@dataclass(frozen=True)
class Host:
    """Host slices of a rank, row by row and in time order; ``depth`` counts rows through all tracks of a thread."""

    slice: Int64s
    thread: Int64s
    depth: Int64s
    start: Int64s
    end: Int64s
    category: Int8s
    kind: pl.Series
    name: pl.Series
    loop: int  # the thread of the training loop, NONE if there is no host slice

    def of(self, *kinds: str) -> Bools:
        """Which slices are of these kinds."""
        return self.kind.is_in(list(kinds)).to_numpy()

    def of_category(self, *names: str) -> Bools:
        """Which slices are of these categories of activity."""
        return np.isin(self.category, [CATEGORIES.index(name) for name in names])

    def where(self, chosen: Bools) -> Intervals:
        """The union of the chosen slices."""
        return union(self.start[chosen], self.end[chosen])

    def by_thread(self, chosen: Bools) -> dict[int, Intervals]:
        """The same for each thread that has any of them."""
        rows = np.flatnonzero(chosen)
        thread = self.thread[rows]
        parts = ((each, rows[thread == each]) for each in np.unique(thread).tolist())
        return {each: union(self.start[own], self.end[own]) for each, own in parts}

    def row_of(self, slices: Int64s) -> Int64s:
        """Where the slices with these ids stand in the arrays, NONE where an id is no host slice."""
        known = (slices >= 0) & (slices < len(self._row_of_slice) - 1)
        return self._row_of_slice[np.where(known, slices, -1)]

    @cached_property
    def _row_of_slice(self) -> Int64s:
        row_of_slice = np.full(int(self.slice.max(initial=0)) + 2, NONE, np.int64)  # the last entry stands for NONE
        row_of_slice[self.slice] = np.arange(len(self.slice))
        return row_of_slice

    def split(self, threads: Sequence[Int64s], start: Int64s, end: Int64s) -> Int64s:
        """Nanoseconds per interval and category; each row adds up to the interval's length.

        ``threads`` are asked in turn: what the first one tells nothing about, the next one tells. NONE asks nobody,
        ALL asks all at once.
        """
        split_ns = np.zeros((len(start), len(CATEGORIES)), np.int64)
        # One number for each combination of threads.
        base = int(max((part.max(initial=0) for part in threads), default=0)) + 3
        code = np.zeros(len(start), np.int64)
        for part in threads:
            code = code * base + (part - ALL)
        for value in np.unique(code):
            here = np.flatnonzero(code == value)
            chain = [int(part[here[0]]) for part in threads]
            first, last = start[here], end[here]
            taken, before = Intervals(np.empty(0, np.int64), np.empty(0, np.int64)), np.zeros(len(here), np.int64)
            for category, own in self._layers(chain):
                if not len(own.start):
                    continue
                taken = joined(taken, own)
                covered = taken.covered_within(first, last)
                split_ns[here, category] += covered - before
                before = covered
        split_ns[:, OTHER] = (end - start) - split_ns[:, :OTHER].sum(axis=1)
        return split_ns

    def _layers(self, chain: list[int]) -> Iterator[tuple[int, Intervals]]:
        for thread in dict.fromkeys(chain):
            if thread != NONE:
                yield from self._categories_of(thread)

    def _categories_of(self, thread: int) -> list[tuple[int, Intervals]]:
        known = self._unions.get(thread)
        if known is None:
            telling = self.category != OTHER  # most slices of Python are not
            # What the profiler itself took is recorded without its thread, so it counts for all of them.
            chosen_thread = (self.thread == thread) | (self.category == _PROFILER)
            mine = np.flatnonzero(telling if thread == ALL else telling & chosen_thread)
            category = self.category[mine]
            chosen = [mine[category == number] for number in range(OTHER)]
            known = [(number, union(self.start[own], self.end[own])) for number, own in enumerate(chosen)]
            self._unions[thread] = known
        return known

    @cached_property
    def _unions(self) -> dict[int, list[tuple[int, Intervals]]]:
        return {}

    def dominant(self, threads: Sequence[Int64s], start: Int64s, end: Int64s) -> Int64s:
        """Id of the innermost slice that covers more than half of an interval, else of the one that covers most of it
        but enough to tell, else NONE. Threads are asked in turn.
        """
        dominant_row = np.full(len(start), NONE, np.int64)
        for thread in threads:
            open_ones = np.flatnonzero(dominant_row == NONE)
            if not len(open_ones):
                break
            best = self._innermost(thread[open_ones], start[open_ones], end[open_ones])
            rest = np.flatnonzero(best == NONE)
            best[rest] = self._largest(thread[open_ones][rest], start[open_ones][rest], end[open_ones][rest])
            dominant_row[open_ones] = best
        return np.where(dominant_row == NONE, NONE, self.slice[dominant_row]) if len(self.slice) else dominant_row

    def _innermost(self, thread: Int64s, start: Int64s, end: Int64s) -> Int64s:
        """A slice that covers more than half of an interval holds its middle: look there, the deepest row first."""
        innermost = np.full(len(start), NONE, np.int64)
        middle = start + (end - start) // 2
        for own, _, low, high in self._rows_downwards:
            asked = np.flatnonzero((thread == own) & (innermost == NONE))
            if not len(asked):
                continue
            row = low + np.searchsorted(self.start[low:high], middle[asked], side="right") - 1
            there = row >= low
            asked, row = asked[there], row[there]
            covered = np.minimum(self.end[row], end[asked]) - np.maximum(self.start[row], start[asked])
            enough = 2 * covered > end[asked] - start[asked]
            innermost[asked[enough]] = row[enough]
        return innermost

    def _largest(self, thread: Int64s, start: Int64s, end: Int64s) -> Int64s:
        largest = np.full(len(start), NONE, np.int64)
        most = np.zeros(len(start), np.int64)
        for own, _, low, high in self._rows_downwards:
            asked = np.flatnonzero(thread == own)
            first = low + np.searchsorted(self.end[low:high], start[asked], side="right")
            last = low + np.searchsorted(self.start[low:high], end[asked], side="left")
            row, number = expanded(first, last)
            owner = asked[number]
            covered = np.minimum(self.end[row], end[owner]) - np.maximum(self.start[row], start[owner])
            order = np.lexsort((-row, covered))
            here, at = np.full(len(start), NONE, np.int64), np.zeros(len(start), np.int64)
            here[owner[order]], at[owner[order]] = row[order], covered[order]
            better = (at > most) & (at >= host_activity_facts().dominant.least_share * (end - start))
            largest[better], most[better] = here[better], at[better]
        return largest

    def covering(self, chosen: Bools, moments: Int64s, *, innermost: bool) -> Int64s:
        """Row of the chosen slice that covers each moment, the innermost or the outermost of them; NONE without one.

        All chosen slices are of one thread, so that those of one depth never overlap.
        """
        covering = np.full(len(moments), NONE, np.int64)
        rows = np.flatnonzero(chosen)
        rows = rows[np.argsort(self.depth[rows], kind="stable")]
        depths = np.split(rows, np.flatnonzero(np.diff(self.depth[rows])) + 1) if len(rows) else []
        for own in reversed(depths) if innermost else depths:
            latest = np.searchsorted(self.start[own], moments, side="right") - 1
            row = own[np.maximum(latest, 0)]
            covered = (latest >= 0) & (self.end[row] > moments) & (covering == NONE)
            covering[covered] = row[covered]
        return covering

    @cached_property
    def _rows_downwards(self) -> list[tuple[int, int, int, int]]:
        """Thread, depth and range of every row, deepest first."""
        if not len(self.slice):
            return []
        new = np.flatnonzero((np.diff(self.thread) != 0) | (np.diff(self.depth) != 0)) + 1
        low, high = np.concatenate(([0], new)), np.concatenate((new, [len(self.slice)]))
        rows = zip(self.thread[low].tolist(), self.depth[low].tolist(), low.tolist(), high.tolist(), strict=True)
        return sorted(rows, key=lambda row: -row[1])
