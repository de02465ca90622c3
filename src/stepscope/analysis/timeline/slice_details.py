"""All that is known of one slice: its arguments, stack, surroundings, links, neighbours, and others of its name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.timeline.brief import SliceBrief, brief, briefs
from stepscope.analysis.timeline.columns import RankColumns
from stepscope.analysis.timeline.view import TimelineView
from stepscope.arrays import NONE, Int64s
from stepscope.errors import UsageError
from stepscope.store.run_store import RunStore

MOST_CHILDREN: Final = 200
MOST_LINKS: Final = 200
HISTOGRAM_BINS: Final = 24
# JavaScript's numbers are exact up to here.
_MOST_EXACT: Final = 1 << 53


@dataclass(frozen=True)
class SliceChildren:
    total: int
    slices: list[SliceBrief]


@dataclass(frozen=True)
class SliceLink:
    """``direction`` is out where the slice is the cause, in where it is the effect."""

    kind: str
    direction: str
    other: SliceBrief


@dataclass(frozen=True)
class PmuValue:
    metric: str
    value: float | None


@dataclass(frozen=True)
class SameName:
    """All slices of this name on this rank: their durations, and how many of them are shorter than this one.

    ``histogram`` counts them in bins of equal width from the shortest to the longest.
    """

    count: int
    total_ns: int
    min_ns: int
    median_ns: float
    max_ns: int
    shorter: int
    histogram: list[int]


@dataclass(frozen=True)
class SliceDetails:
    """``step_share`` is the slice's duration as a part of its step's period."""

    rank: int
    slice: int
    name: str
    kind: str
    track: int
    row: int
    depth: int
    at_ns: int
    end_at_ns: int
    dur_ns: int
    self_ns: int
    start_ns: str
    step: int | None
    step_share: float | None
    phase: str | None
    stream: int | None
    correlation: int | None
    operator: str | None
    type: str | None
    core: str | None
    module: str | None
    input_shapes: str | None
    output_shapes: str | None
    dtypes: str | None
    formats: str | None
    bytes: int | None
    group: str | None
    arguments: list[tuple[str, Any]]
    arguments_text: str | None
    stack: list[str]
    pmu: list[PmuValue]
    parents: list[SliceBrief]
    children: SliceChildren
    links: list[SliceLink]
    links_total: int
    previous_in_row: SliceBrief | None
    next_in_row: SliceBrief | None
    previous_same_name: SliceBrief | None
    next_same_name: SliceBrief | None
    same_name: SameName


_FROM_SLICES: Final = (
    "step",
    "phase",
    "stream",
    "correlation",
    "operator",
    "type",
    "core",
    "module",
    "input_shapes",
    "output_shapes",
    "dtypes",
    "formats",
    "bytes",
    "group",
)


def slice_details(view: TimelineView, rank: int, number: int) -> SliceDetails:
    """One slice of a rank."""
    columns = view.columns(rank)
    position = int(columns.positions([number])[0])
    if position == NONE:
        raise UsageError("no_such_slice", rank=rank, slice=number)
    this = briefs(columns, [position])[0]
    stored = _stored(view.store, rank, number)
    arguments, text = _arguments(view.store, rank, number)
    parents = view.parents(rank)
    children = parents.children(position)
    links, links_total = _links(view, rank, position)
    before, after = _in_row(columns, position)
    same = np.flatnonzero(columns.name == columns.name[position])
    same_before, same_after = _in_time(columns, same, position)
    track = columns.tracks.index(this.track)
    return SliceDetails(
        **{field: getattr(this, field) for field in SliceBrief.__dataclass_fields__},
        depth=this.row - int(columns.track_first_row[track]),
        end_at_ns=this.at_ns + this.dur_ns,
        self_ns=this.dur_ns - union(columns.start[children], columns.end(children)).length,
        start_ns=str(stored["start_ns"]),
        **{field: stored[field] for field in _FROM_SLICES},
        step_share=_step_share(view, rank, stored["step"], this.dur_ns),
        arguments=arguments,
        arguments_text=text,
        stack=_stack(view.store, rank, stored["stack"]),
        pmu=_pmu(view.store, rank, number),
        parents=briefs(columns, parents.chain(position)),
        children=SliceChildren(len(children), briefs(columns, children[:MOST_CHILDREN].tolist())),
        links=links,
        links_total=links_total,
        previous_in_row=brief(columns, before),
        next_in_row=brief(columns, after),
        previous_same_name=brief(columns, same_before),
        next_same_name=brief(columns, same_after),
        same_name=_same_name(columns.duration(same), this.dur_ns),
    )


def _stored(store: RunStore, rank: int, number: int) -> dict[str, Any]:
    wanted = store.scan("slices", [rank]).filter(pl.col("slice") == number)
    return wanted.select("start_ns", "stack", *_FROM_SLICES).head(1).collect().to_dicts()[0]


def _arguments(store: RunStore, rank: int, number: int) -> tuple[list[tuple[str, Any]], str | None]:
    """The arguments in file order; as text where the file's own text is no JSON object."""
    rows = store.scan("details", [rank]).filter(pl.col("slice") == number).select("json").head(1).collect()
    text = rows["json"][0] if rows.height else None
    if text is None:
        return [], None
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs, parse_constant=str)
    except (ValueError, RecursionError):
        return [], str(text)
    return ([(key, _exact(value)) for key, value in pairs], None) if isinstance(pairs, _Pairs) else ([], str(text))


class _Pairs(list[tuple[str, Any]]):
    """Members of a JSON object in their order, also where a name comes twice."""


def _exact(value: Any) -> Any:
    """JSON that JavaScript can read without loss."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) > _MOST_EXACT:
        return str(value)
    if isinstance(value, _Pairs):
        return {key: _exact(item) for key, item in value}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return value


def _stack(store: RunStore, rank: int, number: int | None) -> list[str]:
    if number is None:
        return []
    rows = store.scan("stacks", [rank]).filter(pl.col("stack") == number).select("frames").head(1).collect()
    return (rows["frames"][0] or "").splitlines() if rows.height else []


def _pmu(store: RunStore, rank: int, number: int) -> list[PmuValue]:
    rows = store.scan("pmu", [rank]).filter(pl.col("slice") == number).select("metric", "value").collect()
    return [PmuValue(str(metric), value) for metric, value in rows.iter_rows()]


def _links(view: TimelineView, rank: int, position: int) -> tuple[list[SliceLink], int]:
    links, columns = view.links(rank), view.columns(rank)
    out, into = np.flatnonzero(links.source == position), np.flatnonzero(links.target == position)
    ends = [("in", each, links.source[each]) for each in into] + [("out", each, links.target[each]) for each in out]
    shown = ends[:MOST_LINKS]
    others = briefs(columns, (int(other) for _, _, other in shown))
    entries = [
        SliceLink(links.kinds[links.kind[each]], direction, other)
        for (direction, each, _), other in zip(shown, others, strict=True)
    ]
    return entries, len(ends)


def _in_row(columns: RankColumns, position: int) -> tuple[int, int]:
    first, last = columns.row_range(int(columns.row_of(np.array([position]))[0]))
    return position - 1 if position > first else NONE, position + 1 if position + 1 < last else NONE


def _in_time(columns: RankColumns, same: Int64s, position: int) -> tuple[int, int]:
    """The slices of one name before and after one, by start, then by row."""
    ordered = same[np.argsort(columns.start[same], kind="stable")]
    index = int(np.flatnonzero(ordered == position)[0])
    before = int(ordered[index - 1]) if index else NONE
    return before, int(ordered[index + 1]) if index + 1 < len(ordered) else NONE


def _same_name(durations: Int64s, own_ns: int) -> SameName:
    counts, _ = np.histogram(durations, bins=HISTOGRAM_BINS)
    return SameName(
        count=len(durations),
        total_ns=int(durations.sum()),
        min_ns=int(durations.min()),
        median_ns=float(np.median(durations)),
        max_ns=int(durations.max()),
        shorter=int((durations < own_ns).sum()),
        histogram=counts.tolist(),
    )


def _step_share(view: TimelineView, rank: int, step: int | None, duration_ns: int) -> float | None:
    """Which part of its step's period the slice lasts; None outside of all steps."""
    if step is None:
        return None
    periods = periods_of(view.store, rank)
    index = int(periods.index_of(np.array([step], np.int64))[0])
    length = int(periods.end[index] - periods.start[index]) if index != NONE else 0
    return duration_ns / length if length > 0 else None
