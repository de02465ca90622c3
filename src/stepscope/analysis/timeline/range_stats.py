"""What happened in a window on some rows: by name, kind or track, and the gaps in which none of them was busy.

Slices count that begin in the window or reach into it. Sums take the part inside the window; minimum, percentiles and
maximum are those of whole slices. A slice's self time is its part less what the slices directly inside it cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.timeline.brief import SliceBrief, brief
from stepscope.analysis.timeline.columns import RankColumns
from stepscope.analysis.timeline.rows import RowRange, chosen_rows, rows_of_their_tracks, window_of
from stepscope.analysis.timeline.selection import select
from stepscope.analysis.timeline.view import TimelineView
from stepscope.arrays import NONE
from stepscope.store.schema import SLICE_KINDS

_KEYS: Final = {"name": ["name", "kind"], "kind": ["kind"], "track": ["rank", "track"]}
_KINDS: Final = pl.Series([*SLICE_KINDS, ""], dtype=pl.Enum([*SLICE_KINDS, ""]))
_UNKNOWN: Final[dict[str, Any]] = {"name": None, "kind": None, "rank": None, "track": None}


@dataclass(frozen=True)
class StatsEntry:
    """Fields that the grouping does not tell apart are null."""

    name: str | None
    kind: str | None
    rank: int | None
    track: int | None
    count: int
    total_ns: int
    self_ns: int
    share: float
    avg_ns: float
    min_ns: int
    p50_ns: float
    p95_ns: float
    max_ns: int


@dataclass(frozen=True)
class RangeGap:
    rank: int
    at_ns: int
    dur_ns: int
    before: SliceBrief | None
    after: SliceBrief | None


@dataclass(frozen=True)
class RangeGaps:
    count: int
    total_ns: int
    largest: list[RangeGap]


@dataclass(frozen=True)
class RangeStats:
    """``busy_ns`` is the union over a rank's rows, summed over ranks: nothing in it counts twice."""

    from_ns: int
    to_ns: int
    slices: int
    total_ns: int
    busy_ns: int
    entries: list[StatsEntry]
    entries_total: int
    gaps: RangeGaps


def range_stats(
    view: TimelineView,
    from_ns: int,
    to_ns: int,
    rows: Sequence[RowRange],
    by: str = "name",
    limit: int = 500,
    gaps_over_ns: int = 0,
    gaps_limit: int = 100,
) -> RangeStats:
    """Statistics of a window, longest total first."""
    chosen = chosen_rows(view, rows)
    windows = [_part(view, rank, numbers, *window_of(rows, rank, from_ns, to_ns)) for rank, numbers in chosen.items()]
    slices = pl.concat([part.slices for part in windows]) if windows else _no_slices()
    entries = _entries(slices, by)
    return RangeStats(
        from_ns=from_ns,
        to_ns=to_ns,
        slices=slices.height,
        total_ns=int(slices["inside"].sum()),
        busy_ns=sum(part.busy.length for part in windows),
        entries=[StatsEntry(**_UNKNOWN | row) for row in entries.head(limit).to_dicts()],
        entries_total=entries.height,
        gaps=_gaps(windows, gaps_over_ns, gaps_limit),
    )


@dataclass(frozen=True)
class _Part:
    """The window on one rank."""

    columns: RankColumns
    rows: list[int]
    window: tuple[int, int]
    busy: Intervals
    slices: pl.DataFrame

    def gap(self, at: int, length: int) -> RangeGap:
        """A gap with the slices at its edges: the last to end before it, the first to start after it."""
        before = after = NONE
        for row in self.rows:
            first, last = self.columns.row_range(row)
            begun, following = first + np.searchsorted(self.columns.start[first:last], [at, at + length])
            if begun > first and (before == NONE or self._end(begun - 1) > self._end(before)):
                before = int(begun) - 1
            if following < last and (after == NONE or self.columns.start[following] < self.columns.start[after]):
                after = int(following)
        return RangeGap(self.columns.rank, at, length, brief(self.columns, before), brief(self.columns, after))

    def _end(self, position: int) -> int:
        return int(self.columns.start[position] + self.columns.busy[position + 1] - self.columns.busy[position])


def _gaps(windows: list[_Part], over_ns: int, limit: int) -> RangeGaps:
    """Gaps that are long enough, the longest listed first."""
    gaps = [part.busy.gaps(*part.window) for part in windows]
    owner = np.repeat(np.arange(len(windows)), [len(each.start) for each in gaps])
    start = np.concatenate([np.empty(0, np.int64), *(each.start for each in gaps)])
    length = np.concatenate([np.empty(0, np.int64), *(each.end - each.start for each in gaps)])
    long = np.flatnonzero(length >= over_ns)
    listed = long[np.lexsort((start[long], -length[long]))[:limit]]
    largest = [windows[int(owner[each])].gap(int(start[each]), int(length[each])) for each in listed]
    return RangeGaps(len(long), int(length[long].sum()), largest)


def _no_slices() -> pl.DataFrame:
    numbers = ("rank", "track", "dur", "inside", "self")
    return pl.DataFrame(schema={"name": pl.String, "kind": pl.String} | dict.fromkeys(numbers, pl.Int64))


def _part(view: TimelineView, rank: int, rows: list[int], start: int, end: int) -> _Part:
    columns = view.columns(rank)
    own = select(columns, rows, start, end)
    all_rows = rows_of_their_tracks(columns, rows)  # children may lie on rows that were not chosen
    around = own if all_rows == rows else select(columns, all_rows, start, end)
    inside = own.end - own.start
    track_of_row = np.asarray(columns.tracks, np.int64)[columns.track_index_of_row(np.arange(columns.rows))]
    slices = pl.DataFrame(
        {
            "rank": np.full(len(own), rank, np.int64),
            "track": track_of_row[own.row],
            "name": columns.names.cast(pl.Categorical()).gather(own.take(columns.name)),
            "kind": _KINDS.gather(np.minimum(own.take(columns.kind), len(SLICE_KINDS))),
            "dur": own.duration,
            "inside": inside,
            "self": inside - view.parents(rank).covered(own, around),
        }
    )
    return _Part(columns, rows, (start, end), union(own.start, own.end), slices)


def _entries(slices: pl.DataFrame, by: str) -> pl.DataFrame:
    keys: list[Any] = _KEYS[by]
    duration = pl.col("dur")
    grouped = slices.group_by(keys).agg(
        count=pl.len().cast(pl.Int64),
        total_ns=pl.col("inside").sum(),
        self_ns=pl.col("self").sum(),
        avg_ns=duration.mean(),
        min_ns=duration.min(),
        p50_ns=duration.quantile(0.5, interpolation="linear"),
        p95_ns=duration.quantile(0.95, interpolation="linear"),
        max_ns=duration.max(),
    )
    grouped = grouped.with_columns(pl.col(key).cast(pl.String) for key in keys if key in ("name", "kind"))
    total = pl.col("total_ns").sum()
    share = pl.when(total > 0).then(pl.col("total_ns") / total).otherwise(0.0)
    return grouped.with_columns(share=share).sort(["total_ns", *keys], descending=[True, *(False for _ in keys)])
