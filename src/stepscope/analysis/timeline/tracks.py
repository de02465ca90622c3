"""The tree of tracks of some ranks: processes, tracks, their rows, curves, steps, and the table of names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.analysis.timeline.columns import RankColumns
from stepscope.analysis.timeline.counters import CounterColumns
from stepscope.analysis.timeline.lanes import LANES
from stepscope.analysis.timeline.view import TimelineView
from stepscope.store.schema import SLICE_KINDS

#: Names come with the tracks up to this number; they are ordered by frequency, so few are ever missing.
MOST_NAMES: Final = 65_536

#: Slices of which the merged lanes can be made, without making them.
_WORK: Final = [SLICE_KINDS.index(kind) for kind in ("kernel", "collective", "copy", "operator")]
_GROUP_KINDS: Final = {"stream": "device", "plane": "device", "counter": "counter", "vendor": "vendor"}


@dataclass(frozen=True)
class CounterSpan:
    points: int
    min: float | None
    max: float | None


@dataclass(frozen=True)
class Track:
    track: int
    kind: str
    name: str
    thread: str | None
    first_row: int
    rows: int
    slices: int
    kinds: list[int]
    counter: CounterSpan | None


@dataclass(frozen=True)
class TrackGroup:
    """Tracks of one process or device that follow each other."""

    name: str
    kind: str
    tracks: list[Track]


@dataclass(frozen=True)
class StepMark:
    step: int
    at_ns: int
    dur_ns: int
    device_at_ns: int | None
    device_dur_ns: int | None
    warm_up: bool
    incomplete: bool


@dataclass(frozen=True)
class RankTracks:
    rank: int
    host: str | None
    device_kind: str | None
    device_name: str | None
    clock_offset_ns: str
    clock_error_ns: int | None
    first_at_ns: int | None
    last_at_ns: int | None
    rows: int
    slices: int
    has_lanes: bool
    groups: list[TrackGroup]
    links: dict[str, int]
    steps: list[StepMark]
    names: list[str]
    names_total: int


@dataclass(frozen=True)
class Tracks:
    version: str
    origin_ns: str
    end_at_ns: int
    kinds: list[str]
    lanes: list[str]
    ranks: list[RankTracks]


@dataclass(frozen=True)
class NameTable:
    rank: int
    offset: int
    total: int
    names: list[str]


def tracks(view: TimelineView, ranks: Sequence[int] | None) -> Tracks:
    """The tracks of some ranks; of the first rank if none is named."""
    clock = view.clock
    return Tracks(
        version=view.version,
        origin_ns=str(clock.origin_ns),
        end_at_ns=clock.end_ns - clock.origin_ns,
        kinds=list(SLICE_KINDS),
        lanes=list(LANES),
        ranks=[_of_rank(view, rank) for rank in view.ranks(ranks)],
    )


def names(view: TimelineView, rank: int, offset: int, limit: int) -> NameTable:
    """A stretch of a rank's table of names."""
    table = view.columns(rank).names
    return NameTable(rank, offset, len(table), table.slice(min(offset, len(table)), limit).to_list())


def _of_rank(view: TimelineView, rank: int) -> RankTracks:
    columns = view.columns(rank)
    facts = view.store.scan("ranks", [rank]).collect().to_dicts()
    row: dict[str, Any] = facts[0] if facts else {}
    table = names(view, rank, 0, MOST_NAMES)
    return RankTracks(
        rank=rank,
        host=row.get("host"),
        device_kind=row.get("device_kind"),
        device_name=row.get("device_name"),
        clock_offset_ns=str(view.clock.ranks[rank].offset_ns),
        clock_error_ns=row.get("clock_error_ns"),
        first_at_ns=view.clock.at(rank, row.get("first_ns")),
        last_at_ns=view.clock.at(rank, row.get("last_ns")),
        rows=columns.rows,
        slices=len(columns.slice),
        has_lanes=bool(np.bincount(columns.kind, minlength=len(SLICE_KINDS))[_WORK].any()),
        groups=_groups(view, rank, columns),
        links=view.links(rank).counts(),
        steps=_steps(view, rank),
        names=table.names,
        names_total=table.total,
    )


def _groups(view: TimelineView, rank: int, columns: RankColumns) -> list[TrackGroup]:
    stated = {row["track"]: row for row in view.store.scan("tracks", [rank]).collect().to_dicts()}
    curves = view.counters(rank)
    track_entries = []
    for index, number in enumerate(columns.tracks):
        row = stated.get(number, {})
        track_entries.append((row.get("process") or "", _track(columns, curves, index, row)))
    return [
        TrackGroup(process, _GROUP_KINDS.get(members[0].kind, "host"), members)
        for process, entries in groupby(track_entries, key=lambda entry: entry[0])
        for members in [[track for _, track in entries]]
    ]


def _track(columns: RankColumns, curves: CounterColumns, index: int, row: dict[str, Any]) -> Track:
    number = columns.tracks[index]
    first, last = int(columns.track_first_row[index]), int(columns.track_first_row[index + 1])
    low, high = int(columns.row_first[first]), int(columns.row_first[last])
    _, values = curves.of(number)
    finite = values[np.isfinite(values)]
    span = CounterSpan(
        len(values), float(finite.min()) if len(finite) else None, float(finite.max()) if len(finite) else None
    )
    return Track(
        track=number,
        kind=row.get("kind") or "host",
        name=row.get("name") or str(number),
        thread=row.get("thread"),
        first_row=first,
        rows=last - first,
        slices=high - low,
        kinds=np.flatnonzero(np.bincount(columns.kind[low:high], minlength=1)).tolist(),
        counter=span if len(values) else None,
    )


def _steps(view: TimelineView, rank: int) -> list[StepMark]:
    rows = view.store.scan("steps", [rank]).sort("step", nulls_last=True).collect()
    rows = rows.filter(pl.col("step").is_not_null())
    step_marks = []
    for row in rows.iter_rows(named=True):
        device = _window(view, rank, row["device_start_ns"], row["device_end_ns"])
        host = _window(view, rank, row["host_start_ns"], row["host_end_ns"]) or device
        if host is not None:
            device_at, device_dur = device or (None, None)
            marks = (bool(row["warm_up"]), bool(row["incomplete"]))
            step_marks.append(StepMark(row["step"], *host, device_at, device_dur, *marks))
    return step_marks


def _window(view: TimelineView, rank: int, start: int | None, end: int | None) -> tuple[int, int] | None:
    first, last = view.clock.at(rank, start), view.clock.at(rank, end)
    return None if first is None or last is None else (first, max(0, last - first))
