"""The tree of tracks of some ranks: processes, tracks, rows, curves, steps, and the table of names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.timeline.lanes import IDLE_CAUSES, LANES
from stepscope.analysis.timeline.track_groups import TrackGroup, track_groups
from stepscope.analysis.timeline.view import TimelineView
from stepscope.store.schema import SLICE_KINDS

#: Names come with the tracks up to this number; they are ordered by frequency, so few are ever missing.
MOST_NAMES: Final = 65_536

#: Slices of which the merged lanes can be made, without making them.
_WORK: Final = [SLICE_KINDS.index(kind) for kind in ("kernel", "collective", "copy", "operator")]


@dataclass(frozen=True)
class StepMark:
    """A step's window on the host, that of its device work, and its period, which all shares are of."""

    step: int
    at_ns: int
    dur_ns: int
    device_at_ns: int | None
    device_dur_ns: int | None
    period_at_ns: int | None
    period_dur_ns: int | None
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
    idle_causes: list[str]
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
        idle_causes=list(IDLE_CAUSES),
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
        groups=track_groups(view, rank),
        links=view.links(rank).counts(),
        steps=_steps(view, rank),
        names=table.names,
        names_total=table.total,
    )


def _steps(view: TimelineView, rank: int) -> list[StepMark]:
    rows = view.store.scan("steps", [rank]).sort("step", nulls_last=True).collect()
    rows = rows.filter(pl.col("step").is_not_null())
    periods = _periods(view, rank)
    warm_up = set(step_marks(view.store, rank).filter(pl.col("warm_up"))["step"])
    marks = []
    for row in rows.iter_rows(named=True):
        device = _window(view, rank, row["device_start_ns"], row["device_end_ns"])
        host = _window(view, rank, row["host_start_ns"], row["host_end_ns"]) or device
        if host is not None:
            device_at, device_dur = device or (None, None)
            untypical = (row["step"] in warm_up, bool(row["incomplete"]))
            period_at, period_dur = periods.get(row["step"], (None, None))
            marks.append(StepMark(row["step"], *host, device_at, device_dur, period_at, period_dur, *untypical))
    return marks


def _periods(view: TimelineView, rank: int) -> dict[int, tuple[int, int]]:
    """Begin and length of each step's period on the run's clock."""
    periods = periods_of(view.store, rank)
    start, end = (view.clock.relative(rank, moments).tolist() for moments in (periods.start, periods.end))
    return {
        step: (first, last - first)
        for step, first, last in zip(periods.step.tolist(), start, end, strict=True)
        if last > first
    }


def _window(view: TimelineView, rank: int, start: int | None, end: int | None) -> tuple[int, int] | None:
    first, last = view.clock.at(rank, start), view.clock.at(rank, end)
    return None if first is None or last is None else (first, max(0, last - first))
