"""Tracks of a rank by process or device: what each holds, how busy it is, and which of them are quiet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

import numpy as np

from stepscope.analysis.timeline.columns import RankColumns
from stepscope.analysis.timeline.counters import CounterColumns
from stepscope.analysis.timeline.view import TimelineView
from stepscope.arrays import Int64s
from stepscope.facts.timeline import timeline_facts
from stepscope.store.schema import SLICE_KINDS

HOST: Final = "host"
MARKS: Final = "marks"
PYTHON: Final = "python"
MEMORY: Final = "memory"
_GROUP_KINDS: Final = {"stream": "device", "plane": "device", "counter": "counter", "vendor": "vendor"}
_ANNOTATION: Final = SLICE_KINDS.index("annotation")
#: Tracks of nothing else are the profiler's own notes.
_NOTES: Final = frozenset(SLICE_KINDS.index(kind) for kind in ("annotation", "mark", "overhead"))


@dataclass(frozen=True)
class CounterSpan:
    points: int
    min: float | None
    max: float | None


@dataclass(frozen=True)
class Track:
    """``busy_ns`` is of its busiest row, annotations apart; a quiet track has next to nothing to show.

    ``stored_track`` is its number in the table of slices: Python frames are stored with their thread.
    """

    track: int
    stored_track: int
    kind: str
    name: str
    thread: str | None
    first_row: int
    rows: int
    slices: int
    kinds: list[int]
    busy_ns: int
    quiet: bool
    counter: CounterSpan | None


@dataclass(frozen=True)
class TrackGroup:
    """Tracks of one process or device that follow each other."""

    name: str
    kind: str
    tracks: list[Track]


@dataclass(frozen=True)
class _Member:
    process: str
    group: str
    track: Track


def track_groups(view: TimelineView, rank: int) -> list[TrackGroup]:
    """The groups in the order of the tracks; the profiler's notes of all processes as one group at the end."""
    columns, curves = view.columns(rank), view.counters(rank)
    stated = {row["track"]: row for row in view.store.scan("tracks", [rank]).collect().to_dicts()}
    busy = _busy_of_rows(columns)
    members = [
        _member(columns, curves, index, stated.get(columns.python_of.get(number, number), {}), busy)
        for index, number in enumerate(columns.tracks)
    ]
    members += [_memory(curves, index) for index in range(len(curves.memory))]
    members = _with_quiet(members)
    notes = [each.track for each in members if each.group == MARKS]
    others = [each for each in members if each.group != MARKS]
    groups = [
        TrackGroup(process, group, [each.track for each in entries])
        for (process, group), entries in groupby(others, key=lambda each: (each.process, each.group))
    ]
    return [*groups, TrackGroup("", MARKS, notes)] if notes else groups


def _busy_of_rows(columns: RankColumns) -> Int64s:
    """How long each row is busy with something else than annotations."""
    duration = np.diff(columns.busy)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.where(columns.kind == _ANNOTATION, 0, duration))))
    return np.asarray(before[columns.row_first[1:]] - before[columns.row_first[:-1]], np.int64)


def _member(columns: RankColumns, curves: CounterColumns, index: int, row: dict[str, Any], busy: Int64s) -> _Member:
    number = columns.tracks[index]
    first, last = int(columns.track_first_row[index]), int(columns.track_first_row[index + 1])
    low, high = int(columns.row_first[first]), int(columns.row_first[last])
    _, values = curves.of(number)
    kind = row.get("kind") or HOST
    track = Track(
        track=number,
        stored_track=columns.python_of.get(number, number),
        kind=kind,
        name=(row.get("name") or str(number)).strip(),
        thread=row.get("thread"),
        first_row=first,
        rows=last - first,
        slices=high - low,
        kinds=np.flatnonzero(np.bincount(columns.kind[low:high], minlength=1)).tolist(),
        busy_ns=int(busy[first:last].max(initial=0)),
        quiet=False,
        counter=_span(values) if len(values) else None,
    )
    process = row.get("process") or ""
    if number in columns.python_of:
        return _Member("", PYTHON, track)
    if kind == HOST and track.slices and _NOTES.issuperset(track.kinds):
        return _Member("", MARKS, replace(track, name=_name_of_notes(columns, low, high, process, track.name)))
    return _Member(process, _GROUP_KINDS.get(kind, HOST), track)


def _name_of_notes(columns: RankColumns, low: int, high: int, process: str, name: str) -> str:
    """A single note says what it is better than its process and thread, which are often none."""
    if high - low == 1:
        return str(columns.names[int(columns.name[low])])
    return " · ".join(part for part in (process, name) if part)


def _memory(curves: CounterColumns, index: int) -> _Member:
    curve = curves.memory[index]
    _, values = curves.of(curve.track)
    track = Track(
        curve.track, curve.track, "counter", curve.name, None, 0, 0, 0, [], 0, quiet=False, counter=_span(values)
    )
    return _Member(curve.device, MEMORY, track)


def _span(values: np.ndarray[Any, np.dtype[np.float64]]) -> CounterSpan:
    finite = values[np.isfinite(values)]
    return CounterSpan(
        len(values), float(finite.min()) if len(finite) else None, float(finite.max()) if len(finite) else None
    )


def _with_quiet(members: list[_Member]) -> list[_Member]:
    """Mark the tracks that have next to nothing to show, beside the busiest of their kind of group."""
    share = timeline_facts().quiet.most_share_of_busiest
    most: dict[str, int] = {}
    for each in members:
        most[each.group] = max(most.get(each.group, 0), each.track.busy_ns)
    return [
        replace(each, track=replace(each.track, quiet=_is_quiet(each.track, most[each.group] * share)))
        for each in members
    ]


def _is_quiet(track: Track, least_busy_ns: float) -> bool:
    if track.counter is not None:
        return track.counter.min == track.counter.max
    return track.busy_ns < least_busy_ns or track.slices == 0
