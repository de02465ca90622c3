"""Whom a wait goes back to: passed on along what the late rank itself waited for (docs/metrics/cluster.md).

While rank 1 waits for rank 2, rank 2 may be waiting for rank 3. At every moment of a wait the chain is followed to a
rank that was not waiting: that one is the root of this moment. A moment of one rank becomes a moment of another by the
call that both took part in, so no two clocks are compared.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.computing_time import computing_of
from stepscope.analysis.foundation.intervals import Intervals, expanded
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore

# Chains end at a rank that works, so they are short; clocks that drift within a call could close a circle.
_LONGEST_CHAIN: Final = 64
_WAITS_AT_ONCE: Final = 1 << 17  # each is followed by itself
_NOT_HELD: Final = pl.DataFrame(
    schema={"rank": pl.Int32, "blames": pl.Int32, "shift": pl.Int64, "from": pl.Int64, "to": pl.Int64}
)


def roots(store: RunStore, waits: pl.DataFrame) -> pl.DataFrame:
    """``wait`` (row number in ``waits``), ``root`` and ``wait_ns``; the parts of a wait add up to it."""
    holds = Holds()
    holds.add(store, waits)
    return holds.roots(waits)


class Holds:
    """When each rank was held up by another. Ranks are added in order, some at a time; then waits are followed."""

    def __init__(self) -> None:
        self._of_ranks: list[pl.DataFrame] = []
        self._spans: list[pl.DataFrame] = []

    def add(self, store: RunStore, waits: pl.DataFrame) -> None:
        """All waits of some ranks; their compute is looked up."""
        self._spans.append(_spans(waits))
        held = _held_of(store, waits)
        if not held.is_empty():
            self._of_ranks.append(held)

    def roots(self, waits: pl.DataFrame) -> pl.DataFrame:
        """As the function of that name, of some of the waits that were added."""
        parts = [
            _roots_of(self._held, waits[first : first + _WAITS_AT_ONCE], first)
            for first in range(0, len(waits), _WAITS_AT_ONCE)
        ]
        return pl.concat(parts) if parts else _roots_of(self._held, waits, 0)

    @cached_property
    def _held(self) -> _Held:
        held = _Held(_axis(self._spans), self._of_ranks)
        self._of_ranks.clear()
        return held


def _roots_of(held: _Held, waits: pl.DataFrame, first_wait: int) -> pl.DataFrame:
    """Of some of the waits, which are numbered from ``first_wait`` on."""
    known = waits["came_ns"].is_not_null().to_numpy()
    blames, length = waits["blames"].to_numpy().astype(np.int64), waits["wait_ns"].to_numpy()
    parts = [(np.flatnonzero(~known), blames[~known], length[~known])]
    wait, rank = np.flatnonzero(known), blames[known]
    end = waits["came_ns"].to_numpy()[known].astype(np.int64)
    start = end - length[known]
    for _ in range(_LONGEST_CHAIN):
        if not len(wait):
            break
        item, hold, first, last = held.overlapping(rank, start, end)
        passed_on = np.bincount(item, weights=last - first, minlength=len(wait)).astype(np.int64)
        parts.append((wait, rank, end - start - passed_on))
        onward, lost = held.known[hold], ~held.known[hold]  # nothing more is known about a rank without files
        parts.append((wait[item[lost]], held.blames[hold[lost]], (last - first)[lost]))
        shift = held.shift[hold[onward]]
        wait, rank = wait[item[onward]], held.blames[hold[onward]]
        start, end = first[onward] + shift, last[onward] + shift
    parts.append((wait, rank, end - start))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    frame = pl.DataFrame(dict(zip(("wait", "root", "wait_ns"), columns, strict=True)))
    return (
        frame.filter(pl.col("wait_ns") > 0)
        .with_columns(pl.col("wait") + first_wait)
        .group_by("wait", "root")
        .agg(pl.col("wait_ns").sum())
        .sort("wait", "root")
    )


class _Held:
    """When each rank was held up: it waited and did not compute. Disjoint, on one axis for all ranks."""

    def __init__(self, axis: dict[int, int], of_ranks: list[pl.DataFrame]) -> None:
        self._axis = axis
        rows = pl.concat(of_ranks) if of_ranks else _NOT_HELD
        rank = rows["rank"].to_numpy()
        self.start, self.end = (self._on_axis(rank, rows[name].to_numpy()) for name in ("from", "to"))
        self.blames = rows["blames"].to_numpy()
        self.known = rows["shift"].is_not_null().to_numpy()
        self.shift: Int64s = rows["shift"].fill_null(0).to_numpy()

    def overlapping(self, rank: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Which window overlaps which hold, and from when to when on the clock of the window's rank."""
        first, last = self._on_axis(rank, start), self._on_axis(rank, end)
        window, hold, begins, ends = overlaps(first, last, Intervals(self.start, self.end))
        offset = start[window] - first[window]
        return window, hold, begins + offset, ends + offset

    def _on_axis(self, rank: Int64s, moment: Int64s) -> Int64s:
        if not len(rank):
            return np.empty(0, np.int64)
        ranks, index = np.unique(rank, return_inverse=True)
        offset = np.array([self._axis[int(one)] for one in ranks], np.int64)
        return np.asarray(moment + offset[index], np.int64)


def _spans(waits: pl.DataFrame) -> pl.DataFrame:
    """From when to when each rank is mentioned, as the one that waits or as the one that is waited for."""
    mentioned = pl.concat(
        [
            waits.select("rank", begins="start_ns", ends=pl.col("start_ns") + pl.col("wait_ns")),
            waits.select(rank="blames", begins=pl.col("came_ns") - pl.col("wait_ns"), ends="came_ns"),
        ]
    )
    return mentioned.group_by("rank").agg(pl.min("begins"), pl.max("ends")).drop_nulls()


def _axis(of_ranks: list[pl.DataFrame]) -> dict[int, int]:
    """What to add to the times of each rank so that no window of one rank reaches into the times of another."""
    if not of_ranks:
        return {}
    spans = pl.concat(of_ranks).group_by("rank").agg(pl.min("begins"), pl.max("ends")).sort("rank")
    longest = int((spans["ends"] - spans["begins"]).max() or 0) if len(spans) else 0  # type: ignore[arg-type]
    room = 4 * longest + 1  # a window that was passed on may begin before the first wait of its rank
    return {
        rank: (place + 1) * room - begins
        for place, (rank, begins) in enumerate(spans.select("rank", "begins").iter_rows())
    }


def _held_of(store: RunStore, waits: pl.DataFrame) -> pl.DataFrame:
    """The parts of the waits of ranks, ``from`` to ``to``, in which they did not compute; of two at once the first."""
    end = pl.col("start_ns") + pl.col("wait_ns")
    rows = waits.select("rank", "blames", shift=pl.col("came_ns") - end, start="start_ns", end=end)
    before = pl.col("end").cum_max().shift(1).over("rank")
    rows = rows.sort("rank", "start", "end").with_columns(start=pl.max_horizontal("start", before))
    rows = rows.filter(pl.col("end") > pl.col("start"))
    if rows.is_empty():
        return _NOT_HELD
    rank, starts, ends = (rows[name].to_numpy() for name in ("rank", "start", "end"))
    borders = [0, *(np.flatnonzero(np.diff(rank)) + 1).tolist(), len(rows)]
    parts = []
    for first, last in pairwise(borders):
        own = slice(first, last)
        idle = computing_of(store, int(rank[first])).gaps(int(starts[own].min()), int(ends[own].max()))
        wait, _, begins, until = overlaps(starts[own], ends[own], idle)
        parts.append((wait + first, begins, until))
    wait, begins, until = (np.concatenate(column) for column in zip(*parts, strict=True))
    held = rows.select("rank", "blames", "shift")[wait]
    return held.with_columns(pl.Series("from", begins), pl.Series("to", until))


def overlaps(start: Int64s, end: Int64s, others: Intervals) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Which window overlaps which of the disjoint intervals, and from when to when.

    >>> from stepscope.analysis.foundation.intervals import union
    >>> two = union(np.array([1, 5]), np.array([3, 9]))
    >>> [column.tolist() for column in overlaps(np.array([0, 8]), np.array([6, 9]), two)]
    [[0, 0, 1], [0, 1, 1], [1, 5, 8], [3, 6, 9]]
    """
    low = np.searchsorted(others.end, start, side="right")
    other, window = expanded(low, np.searchsorted(others.start, end, side="left"))
    first, last = np.maximum(start[window], others.start[other]), np.minimum(end[window], others.end[other])
    return window, other, first, last
