"""The slices of one rank as arrays, sorted by row and start: all that tiles, search and statistics read.

A row is one depth of one track. Slices of a row never overlap, so the last one that starts before a moment is the
only one that can reach beyond it, and every question about a window is a binary search in a row's stretch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.analysis.timeline.clock import RunClock
from stepscope.analysis.timeline.python_frames import apart
from stepscope.arrays import NONE, Int32s, Int64s
from stepscope.store.run_store import RunStore

UInt32s = npt.NDArray[np.uint32]
UInt8s = npt.NDArray[np.uint8]

#: Stands for "no kind" among the codes of slice kinds.
NO_KIND: Final = 255


@dataclass(frozen=True)
class RankColumns:
    """Positions count slices in order of (row, start). Times are nanoseconds since the run's origin, on its clock."""

    rank: int
    tracks: list[int]  # numbers of the tracks, in the order of their rows
    track_first_row: Int64s  # one more than tracks
    row_first: Int64s  # position of each row's first slice, one more than rows
    start: Int64s
    busy: Int64s  # sum of all durations before each position, one more than slices
    slice: UInt32s
    name: UInt32s  # index in ``names``
    kind: UInt8s  # index in the schema's SLICE_KINDS
    names: pl.Series  # most frequent first
    python_of: dict[int, int] = field(default_factory=dict)  # tracks of Python frames, and the thread of each

    @property
    def rows(self) -> int:
        return len(self.row_first) - 1

    @property
    def bytes(self) -> int:
        arrays = (self.row_first, self.start, self.busy, self.slice, self.name, self.kind)
        # The table of positions is made when first asked for; it is counted from the beginning.
        return sum(array.nbytes for array in arrays) + 4 * len(self.slice) + int(self.names.estimated_size())

    def duration(self, positions: Int64s) -> Int64s:
        return np.asarray(self.busy[positions + 1] - self.busy[positions], np.int64)

    def end(self, positions: Int64s) -> Int64s:
        return np.asarray(self.start[positions] + self.duration(positions), np.int64)

    def row_of(self, positions: Int64s) -> Int64s:
        return np.asarray(np.searchsorted(self.row_first, positions, side="right") - 1, np.int64)

    def track_index_of_row(self, rows: Int64s) -> Int64s:
        return np.asarray(np.searchsorted(self.track_first_row, rows, side="right") - 1, np.int64)

    def row_range(self, row: int) -> tuple[int, int]:
        """Positions of a row's first slice and of the one behind its last."""
        return int(self.row_first[row]), int(self.row_first[row + 1])

    def touching(self, row: int, start: int, end: int) -> tuple[int, int]:
        """The stretch of a row's slices that begin in a window or reach into it."""
        first, last = self.row_range(row)
        starts = self.start[first:last]
        low = first + int(np.searchsorted(starts, start, side="left"))
        high = first + int(np.searchsorted(starts, end, side="left"))
        if start < end and low > first and self.start[low - 1] + self.busy[low] - self.busy[low - 1] > start:
            low -= 1
        return low, max(low, high)

    def positions(self, slices: npt.ArrayLike) -> Int64s:
        """Where slices of these ids stand, NONE where there is no such slice."""
        wanted = np.asarray(slices, np.int64)
        if not len(self.slice):
            return np.full(len(wanted), NONE, np.int64)
        ids, position_of = self._position_table
        index = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1) if ids is not None else wanted
        if ids is not None:
            return np.where(ids[index] == wanted, position_of[index], NONE).astype(np.int64)
        known = (wanted >= 0) & (wanted < len(position_of))
        return np.where(known, position_of[np.where(known, wanted, 0)], NONE).astype(np.int64)

    @cached_property
    def _position_table(self) -> tuple[UInt32s | None, npt.NDArray[np.int32]]:
        """A table by id where ids are dense, as event numbers are; else ids in order, and where each stands."""
        largest = int(self.slice.max())
        if largest > 8 * len(self.slice) + 1_000_000:
            order = np.argsort(self.slice, kind="stable").astype(np.int32)
            return self.slice[order], order
        table = np.full(largest + 1, NONE, np.int32)
        table[self.slice] = np.arange(len(self.slice), dtype=np.int32)
        return None, table


def rank_columns(store: RunStore, rank: int, clock: RunClock) -> RankColumns:
    """Read the slices of a rank."""
    frame = store.scan("slices", [rank]).select("track", "row", "start_ns", "dur_ns", "slice", "name", "kind").collect()
    thread_tracks = _tracks_in_order(store, rank, frame)
    layout = apart(frame, max(thread_tracks, default=-1) + 1)
    tracks = thread_tracks + list(layout.python_of)
    place_of_track = np.zeros(max(tracks, default=0) + 1, np.int32)
    place_of_track[tracks] = np.arange(len(tracks))
    track_index = place_of_track[layout.track]
    depth = layout.depth
    depths = np.zeros(len(tracks), np.int32)
    np.maximum.at(depths, track_index, depth + 1)
    first_row: Int64s = np.concatenate((np.zeros(1, np.int64), np.cumsum(depths, dtype=np.int64)))
    row = first_row.astype(np.int32)[track_index] + depth
    own_start = frame["start_ns"].to_numpy()
    order = _by_row_and_start(row, own_start)
    row, own_start = row[order], own_start[order]
    start = clock.relative(rank, own_start)
    end = clock.relative(rank, own_start + frame["dur_ns"].to_numpy()[order])
    names, codes = _names(frame["name"])
    return RankColumns(
        rank=rank,
        tracks=tracks,
        track_first_row=first_row,
        row_first=np.searchsorted(row, np.arange(first_row[-1] + 1)).astype(np.int64),
        start=start,
        busy=np.concatenate((np.zeros(1, np.int64), np.cumsum(end - start))),
        slice=frame["slice"].to_numpy()[order],
        name=codes[order],
        kind=frame["kind"].to_physical().fill_null(NO_KIND).cast(pl.UInt8).to_numpy()[order],
        names=names,
        python_of=layout.python_of,
    )


def _tracks_in_order(store: RunStore, rank: int, slices: pl.DataFrame) -> list[int]:
    """As the page shows them; a track that only its slices name comes last."""
    stated = store.scan("tracks", [rank]).select("track", "order").collect()
    known = stated.sort("order", "track", nulls_last=True)["track"].unique(maintain_order=True).to_list()
    return known + sorted(set(slices["track"].unique().to_list()) - set(known))


def _by_row_and_start(row: Int32s, start: Int64s) -> Int64s | slice:
    """The order of (row, start). Stored slices are sorted by track, row and start: at most whole rows move."""
    if not len(row):
        return slice(None)
    heads = np.concatenate(([0], np.flatnonzero(row[1:] != row[:-1]) + 1))
    head_rows = row[heads]
    backwards = (start[1:] < start[:-1]) & (row[1:] == row[:-1])
    if len(np.unique(head_rows)) < len(head_rows) or bool(backwards.any()):
        return np.lexsort((start, row))
    if bool((np.diff(head_rows) > 0).all()):
        return slice(None)
    tails = np.concatenate((heads[1:], [len(row)]))
    return np.concatenate([np.arange(heads[head], tails[head]) for head in np.argsort(head_rows)])


def _names(names: pl.Series) -> tuple[pl.Series, UInt32s]:
    """All names, the most frequent first, and the index of each slice's name among them."""
    codes = names.to_physical().rename("code")
    counted = pl.DataFrame([codes]).group_by("code").len()
    texts = pl.DataFrame([names.rename("name"), codes]).unique("code", keep="any")
    listed = counted.join(texts, on="code", nulls_equal=True).with_columns(pl.col("name").cast(pl.String).fill_null(""))
    listed = listed.sort(pl.col("len"), pl.col("name"), descending=[True, False])
    # A null name has no code; it takes the one behind the largest.
    behind = int(codes.max() or 0) + 1  # type: ignore[arg-type]
    rank_of_code = np.zeros(behind + 1, np.uint32)
    rank_of_code[listed["code"].fill_null(behind).to_numpy()] = np.arange(listed.height, dtype=np.uint32)
    return listed["name"], rank_of_code[codes.fill_null(behind).to_numpy()]
