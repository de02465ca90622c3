"""Tiles: what one screenful of rows shows at one resolution, in bytes bounded by the screen and not by the run.

A tile is 1024 bins of 2^level nanoseconds × 16 rows. Of the slices that start in one bin of one row it holds the
last, with their number and the bin's busy share. Slices of a row do not overlap, so only that last one can reach
beyond the bin: every slice of at least one bin's length is there, whatever the resolution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from stepscope.analysis.timeline.columns import RankColumns, UInt8s, UInt32s
from stepscope.arrays import Float32s, Int64s

BINS: Final = 1024
BLOCK_ROWS: Final = 16
MOST_LEVEL: Final = 50
_BINS_LOG2: Final = 10
# Bins before the point and so many binary places behind it fit the 24 bits of a float32 exactly.
_PLACES: Final = 13
_MOST_COUNT: Final = 65535
_FULL: Final = 255
_FAR: Final = 1 << 62

UInt16s = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Tile:
    """Items sorted by row and start; ``x0`` and ``x1`` in bins. A count of 0: the slice began before the tile."""

    x0: Float32s
    x1: Float32s
    slice: UInt32s
    name: UInt32s
    count: UInt16s
    row: UInt8s
    fill: UInt8s
    kind: UInt8s

    def encoded(self) -> bytes:
        """The columns one after the other, little endian, padded to four bytes."""
        columns = (self.x0, self.x1, self.slice, self.name, self.count, self.row, self.fill, self.kind)
        body = b"".join(
            np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<")).tobytes() for column in columns
        )
        return body + bytes(-len(body) % 4)


def tile(columns: RankColumns, block: int, level: int, index: int) -> Tile:
    """The tile of 16 rows from ``16 * block``, from ``index`` tile widths after the run's origin."""
    base = index << (_BINS_LOG2 + level)
    rows = range(BLOCK_ROWS * block, min(BLOCK_ROWS * (block + 1), columns.rows))
    if not rows or not -_FAR < base < _FAR:
        return _tile_of(columns, 0, level, *(np.empty(0, np.int64) for _ in range(4)))
    edges = base + (np.arange(BINS + 1, dtype=np.int64) << level)
    # One search per row, in that row's stretch: faster than one over a combined key, and no bound on rows or time.
    first_of_bin = np.empty((len(rows), BINS + 1), np.int64)
    for line, number in enumerate(rows):
        first, last = columns.row_range(number)
        first_of_bin[line] = np.searchsorted(columns.start[first:last], edges)
        first_of_bin[line] += first
    row_start = columns.row_first[rows.start : rows.stop]
    counts = np.diff(first_of_bin, axis=1)
    row, column = np.nonzero(counts)
    busy = _busy(
        columns,
        first_of_bin[row, column],
        first_of_bin[row, column + 1],
        edges[column],
        edges[column + 1],
        row_start[row],
    )
    begun = first_of_bin[:, 0] > row_start
    reaching = np.flatnonzero(begun)[columns.end(first_of_bin[begun, 0] - 1) > base]
    positions = np.concatenate((first_of_bin[reaching, 0] - 1, first_of_bin[row, column + 1] - 1))
    order = np.argsort(positions, kind="stable")  # positions are in order of row and start
    rows_of = np.concatenate((reaching, row))
    count = np.concatenate((np.zeros(len(reaching), np.int64), counts[row, column]))
    fill = np.concatenate((np.full(len(reaching), _FULL, np.int64), ((busy * _FULL) + (1 << level) - 1) >> level))
    return _tile_of(columns, base, level, *(column[order] for column in (positions, rows_of, count, fill)))


def _busy(
    columns: RankColumns, low: Int64s, high: Int64s, bin_start: Int64s, bin_end: Int64s, row_start: Int64s
) -> Int64s:
    """How long the row is busy in each bin, in which the slices from ``low`` to ``high`` start: one at least."""
    own = columns.busy[high] - columns.busy[low] - np.maximum(columns.end(high - 1) - bin_end, 0)
    before = np.maximum(low - 1, 0)
    reach = np.where(low > row_start, np.minimum(columns.end(before), bin_end) - bin_start, 0)
    return np.asarray(own + np.maximum(reach, 0), np.int64)


def _tile_of(
    columns: RankColumns, base: int, level: int, positions: Int64s, row: Int64s, count: Int64s, fill: Int64s
) -> Tile:
    start = np.maximum(columns.start[positions] - base, 0)
    end = np.minimum(columns.end(positions) - base, BINS << level)
    return Tile(
        x0=_in_bins(start, level, up=False),
        x1=_in_bins(end, level, up=True),
        slice=columns.slice[positions],
        name=columns.name[positions],
        count=np.minimum(count, _MOST_COUNT).astype(np.uint16),
        row=row.astype(np.uint8),
        fill=np.clip(fill, 0, _FULL).astype(np.uint8),
        kind=columns.kind[positions],
    )


def _in_bins(distance: Int64s, level: int, up: bool) -> Float32s:
    """Exact to 1/8192 bin; starts rounded down so that they stay in their bin, ends up so that no length is lost."""
    if level <= _PLACES:
        return (distance / (1 << level)).astype(np.float32)
    drop = level - _PLACES
    whole = (distance + ((1 << drop) - 1 if up else 0)) >> drop
    return (whole / (1 << _PLACES)).astype(np.float32)
