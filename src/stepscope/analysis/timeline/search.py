"""Slices by name: how many, on which rows, where on the axis, and the next and previous one from a moment or a hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.timeline.brief import SliceBrief, brief
from stepscope.analysis.timeline.columns import RankColumns
from stepscope.analysis.timeline.view import TimelineView
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.errors import UsageError
from stepscope.store.schema import SLICE_KINDS

TICKS: Final = 256
MOST_NAMES: Final = 100


@dataclass(frozen=True)
class Question:
    """What to look for. ``regex`` takes the text as a pattern; times are nanoseconds since the run's origin."""

    text: str
    regex: bool = False
    match_case: bool = False
    whole_word: bool = False
    kinds: Sequence[str] = ()
    min_dur_ns: int | None = None
    max_dur_ns: int | None = None
    from_ns: int | None = None
    to_ns: int | None = None


@dataclass(frozen=True)
class Cursor:
    """Where the reader stands: at a hit, else at a moment."""

    at_ns: int | None = None
    rank: int | None = None
    slice: int | None = None


@dataclass(frozen=True)
class NameHits:
    name: str
    count: int


@dataclass(frozen=True)
class RowHits:
    rank: int
    track: int
    row: int
    count: int


@dataclass(frozen=True)
class SearchResult:
    total: int
    names: list[NameHits]
    names_total: int
    rows: list[RowHits]
    ticks: list[int]
    hits: list[SliceBrief]
    position: int | None
    next: SliceBrief | None
    previous: SliceBrief | None


def search(
    view: TimelineView,
    question: Question,
    ranks: Sequence[int] | None = None,
    cursor: Cursor | None = None,
    offset: int = 0,
    limit: int = 100,
) -> SearchResult:
    """Hits in order of start, rank and row; ``offset`` and ``limit`` choose which of them are listed."""
    columns = [view.columns(rank) for rank in view.ranks(ranks)]
    hits_of_rank = [_hits(each, question) for each in columns]
    starts = np.concatenate([each.start[hits] for each, hits in zip(columns, hits_of_rank, strict=True)])
    owner = np.repeat(np.arange(len(columns)), [len(hits) for hits in hits_of_rank])
    position = np.concatenate(hits_of_rank)
    # Hits come by rank, row and start; a stable sort by start leaves rank and row to decide between equals.
    order = np.argsort(starts, kind="stable")
    listed = _Hits(columns, owner[order], position[order], starts[order])
    names = _names(columns, hits_of_rank)
    before, following, current = listed.around(cursor or Cursor())
    return SearchResult(
        total=len(position),
        names=[NameHits(*entry) for entry in names.head(MOST_NAMES).iter_rows()],
        names_total=names.height,
        rows=[entry for each, hits in zip(columns, hits_of_rank, strict=True) for entry in _rows(each, hits)],
        ticks=_ticks(starts, view.clock.end_ns - view.clock.origin_ns),
        hits=[listed.brief(number) for number in range(min(offset, len(position)), min(offset + limit, len(position)))],
        position=current,
        next=None if following == NONE else listed.brief(following),
        previous=None if before == NONE else listed.brief(before),
    )


@dataclass(frozen=True)
class _Hits:
    """All hits in their order."""

    columns: list[RankColumns]
    owner: Int64s
    position: Int64s
    start: Int64s

    def brief(self, number: int) -> SliceBrief:
        entry = brief(self.columns[int(self.owner[number])], int(self.position[number]))
        assert entry is not None
        return entry

    def around(self, cursor: Cursor) -> tuple[int, int, int | None]:
        """Numbers of the hits before and after the cursor, and how many hits come before it."""
        last = len(self.position)
        here = self._number_of(cursor)
        if here is not None:
            return (here - 1 if here else NONE), (here + 1 if here + 1 < last else NONE), here
        moment = self._moment_of(cursor)
        if moment is None:
            return NONE, 0 if last else NONE, None
        number = int(np.searchsorted(self.start, moment))
        return (number - 1 if number else NONE), (number if number < last else NONE), number

    def _number_of(self, cursor: Cursor) -> int | None:
        for owner, columns in enumerate(self.columns):
            if cursor.rank == columns.rank and cursor.slice is not None:
                position = int(columns.positions([cursor.slice])[0])
                number = np.flatnonzero((self.owner == owner) & (self.position == position))
                return int(number[0]) if len(number) else None
        return None

    def _moment_of(self, cursor: Cursor) -> int | None:
        """The start of the slice that the cursor is on, whether it is a hit or not."""
        if cursor.at_ns is None and cursor.slice is not None:
            for columns in self.columns:
                position = int(columns.positions([cursor.slice])[0]) if columns.rank == cursor.rank else NONE
                if position != NONE:
                    return int(columns.start[position])
        return cursor.at_ns


def _hits(columns: RankColumns, question: Question) -> Int64s:
    """Positions of the slices that answer, in order of row and start."""
    wanted = _matching(columns.names, question)
    keep = wanted[columns.name] if len(wanted) else np.zeros(len(columns.name), bool)
    if question.kinds:
        keep &= np.isin(columns.kind, [SLICE_KINDS.index(kind) for kind in question.kinds if kind in SLICE_KINDS])
    if question.from_ns is not None:
        keep &= columns.start >= question.from_ns
    if question.to_ns is not None:
        keep &= columns.start < question.to_ns
    hits = np.flatnonzero(keep)
    if question.min_dur_ns is not None:
        hits = hits[columns.duration(hits) >= question.min_dur_ns]
    if question.max_dur_ns is not None:
        hits = hits[columns.duration(hits) <= question.max_dur_ns]
    return hits


def _matching(names: pl.Series, question: Question) -> Bools:
    """Which names answer. The engine's time is linear in the text, so no pattern can stall the server."""
    pattern = question.text if question.regex else pl.escape_regex(question.text)
    pattern = rf"\b(?:{pattern})\b" if question.whole_word else pattern
    try:
        return names.str.contains(pattern if question.match_case else f"(?i){pattern}", strict=True).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise UsageError("search_pattern", reason=" ".join(str(error).split())[:300]) from error


def _names(columns: list[RankColumns], hits_of_rank: list[Int64s]) -> pl.DataFrame:
    parts = []
    for each, hits in zip(columns, hits_of_rank, strict=True):
        counts = np.bincount(each.name[hits], minlength=len(each.names))
        there = np.flatnonzero(counts)
        parts.append(pl.DataFrame({"name": each.names.gather(there), "count": counts[there]}))
    return pl.concat(parts).group_by("name").sum().sort(["count", "name"], descending=[True, False])


def _rows(columns: RankColumns, hits: Int64s) -> list[RowHits]:
    rows, counts = np.unique(columns.row_of(hits), return_counts=True)
    tracks = columns.track_index_of_row(rows)
    return [
        RowHits(columns.rank, columns.tracks[track], row, count)
        for row, count, track in zip(rows.tolist(), counts.tolist(), tracks.tolist(), strict=True)
    ]


def _ticks(starts: Int64s, length: int) -> list[int]:
    width = max(1, -(-(length + 1) // TICKS))
    ticks = starts // width
    return [int(count) for count in np.bincount(ticks[(ticks >= 0) & (ticks < TICKS)], minlength=TICKS)]
