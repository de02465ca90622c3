"""The parent of each slice, as positions in a rank's columns, for self times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.timeline.columns import RankColumns
from stepscope.analysis.timeline.selection import Selection
from stepscope.arrays import NONE, Int64s
from stepscope.store.run_store import RunStore

_MANY_ROWS: Final = 1 << 40


@dataclass(frozen=True)
class ParentColumns:
    """The parent of each position, NONE at the top."""

    parent: npt.NDArray[np.int32]

    @property
    def bytes(self) -> int:
        return self.parent.nbytes

    def chain(self, position: int) -> list[int]:
        """The slices around one, the outermost first. A parent that stands in its own chain ends it."""
        ancestors: list[int] = []
        seen = {position}
        above = int(self.parent[position])
        while above != NONE and above not in seen:
            seen.add(above)
            ancestors.append(above)
            above = int(self.parent[above])
        return ancestors[::-1]

    def children(self, position: int) -> Int64s:
        """What lies directly inside a slice, in order of row and start."""
        return np.flatnonzero(self.parent == position)

    def covered(self, own: Selection, inside: Selection) -> Int64s:
        """How much of each chosen slice is covered by slices directly inside it, all cut to the window.

        Siblings on one row do not overlap, so their lengths add up. Captures that mix clocks have siblings on several
        rows that do; those are united.
        """
        holder = own.indices(inside.take(self.parent).astype(np.int64)) if len(own) else np.empty(0, np.int64)
        known = np.flatnonzero(holder != NONE)
        total = np.zeros(len(own), np.int64)
        if not len(known):
            return total
        holder, start, end, row = holder[known], inside.start[known], inside.end[known], inside.row[known]
        # Sums of nanoseconds stay below 2^53, so the weights of bincount are exact.
        total += np.bincount(holder, end - start, len(own)).astype(np.int64)
        first, last = np.full(len(own), _MANY_ROWS), np.full(len(own), -1)
        np.minimum.at(first, holder, row)
        np.maximum.at(last, holder, row)
        mixed = (last > first)[holder]
        if mixed.any():
            crowded = np.unique(holder[mixed])
            total[crowded] = _united(own, holder[mixed], start[mixed], end[mixed])[crowded]
        return total


def _united(own: Selection, holder: Int64s, start: Int64s, end: Int64s) -> Int64s:
    """The length of the union of what lies in each slice, each moved to a place of its own on one axis."""
    axis = np.concatenate((np.zeros(1, np.int64), np.cumsum(own.end - own.start)))
    shift = (axis[:-1] - own.start)[holder]
    bounds = axis[holder], axis[holder + 1]
    begin, finish = np.clip(start + shift, *bounds), np.clip(end + shift, *bounds)
    return union(begin, finish).covered_within(axis[:-1], axis[1:])


def parent_columns(store: RunStore, columns: RankColumns) -> ParentColumns:
    """Read the parents of a rank's slices."""
    frame = store.scan("slices", [columns.rank]).select("slice", "parent").drop_nulls("parent").collect()
    parent = np.full(len(columns.slice), NONE, np.int32)
    own, above = columns.positions(frame["slice"].to_numpy()), columns.positions(frame["parent"].to_numpy())
    known = own != NONE
    parent[own[known]] = above[known]
    return ParentColumns(parent)
