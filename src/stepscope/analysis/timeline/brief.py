"""A slice in one line, as lists and arrows mention it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.timeline.columns import RankColumns
from stepscope.analysis.timeline.view import TimelineView
from stepscope.arrays import NONE
from stepscope.store.schema import SLICE_KINDS


@dataclass(frozen=True)
class SliceBrief:
    """``row`` counts the rows of the rank, ``at_ns`` nanoseconds since the run's origin."""

    rank: int
    slice: int
    name: str
    kind: str
    track: int
    row: int
    at_ns: int
    dur_ns: int


def briefs(columns: RankColumns, positions: Iterable[int]) -> list[SliceBrief]:
    """Slices of a rank by their positions."""
    chosen = np.fromiter(positions, np.int64)
    rows = columns.row_of(chosen)
    tracks = columns.track_index_of_row(rows)
    names = columns.names.gather(columns.name[chosen]).to_list()
    fields = (columns.slice[chosen], columns.kind[chosen], rows, columns.start[chosen], columns.duration(chosen))
    return [
        SliceBrief(columns.rank, number, name, kind_name(kind), columns.tracks[track], row, start, duration)
        for name, track, (number, kind, row, start, duration) in zip(
            names, tracks.tolist(), zip(*(field.tolist() for field in fields), strict=True), strict=True
        )
    ]


def briefs_of(view: TimelineView, slices: Sequence[tuple[int, int]]) -> list[SliceBrief]:
    """Slices by rank and id, in the order asked for; those that do not exist are left out."""
    found: dict[tuple[int, int], SliceBrief] = {}
    for rank in dict.fromkeys(rank for rank, _ in slices):
        columns = view.columns(rank)
        positions = columns.positions([number for owner, number in slices if owner == rank])
        found |= {(rank, each.slice): each for each in briefs(columns, positions[positions != NONE].tolist())}
    return [found[key] for key in slices if key in found]


def brief(columns: RankColumns, position: int) -> SliceBrief | None:
    """One slice, or None if the position is NONE."""
    return None if position == NONE else briefs(columns, [position])[0]


def kind_name(code: int) -> str:
    """The name of a slice kind; empty where a slice has none."""
    return SLICE_KINDS[code] if code < len(SLICE_KINDS) else ""
