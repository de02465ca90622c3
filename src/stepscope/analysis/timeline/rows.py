"""The rows and ranks that a request is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.timeline.columns import RankColumns
from stepscope.analysis.timeline.view import TimelineView


@dataclass(frozen=True)
class RowRange:
    """Rows of a rank from first to last; all of them where neither is said.

    ``shift_ns`` is how far somebody moved the rank against the run's clock: a window means moments as they are shown.
    """

    rank: int
    first_row: int | None = None
    last_row: int | None = None
    shift_ns: int = 0


def chosen_rows(view: TimelineView, ranges: Sequence[RowRange]) -> dict[int, list[int]]:
    """Rows per rank, each once, ascending; rows that do not exist are left out."""
    rows_of_rank: dict[int, set[int]] = {}
    for each in ranges:
        rows = view.columns(each.rank).rows
        first = max(0, each.first_row or 0)
        last = rows - 1 if each.last_row is None else min(each.last_row, rows - 1)
        rows_of_rank.setdefault(each.rank, set()).update(range(first, last + 1))
    return {rank: sorted(rows) for rank, rows in rows_of_rank.items()}


def window_of(ranges: Sequence[RowRange], rank: int, from_ns: int, to_ns: int) -> tuple[int, int]:
    """A window as shown, converted to the rank's times before it was shifted."""
    shift = next((each.shift_ns for each in ranges if each.rank == rank), 0)
    return from_ns - shift, to_ns - shift


def rows_of_their_tracks(columns: RankColumns, rows: Sequence[int]) -> list[int]:
    """All rows of the threads and streams that own some rows; a thread owns the track of its Python frames too."""
    if not rows:
        return []
    thread_of = [columns.python_of.get(track, track) for track in columns.tracks]
    chosen = {thread_of[index] for index in columns.track_index_of_row(np.asarray(rows, np.int64)).tolist()}
    first = columns.track_first_row.tolist()
    return [
        row
        for index, thread in enumerate(thread_of)
        if thread in chosen
        for row in range(first[index], first[index + 1])
    ]
