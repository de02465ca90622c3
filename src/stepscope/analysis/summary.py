"""Where the time of a run goes: medians per rank, and whether computing, communication or idle time is the problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.intervals import joined, union
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE, COPY, Work, work_of
from stepscope.analysis.step_statistics import StepStatistics, step_statistics, typical
from stepscope.analysis.steps import Step
from stepscope.analysis.steps import steps as step_trace
from stepscope.facts.delimitation import delimitation_facts
from stepscope.store.run_store import RunStore

_FIELDS: Final = tuple(name for name in Step.__struct_fields__ if name.endswith("_us"))

_PARTS: Final = {"computing": "working_us", "communication": "exposed_communication_us", "free": "idle_us"}


class WholeWindow(msgspec.Struct, frozen=True):
    """All device work of a rank at once, from its first to its last, whatever step it belongs to."""

    span_us: float
    busy_us: float
    computing_us: float
    exposed_communication_us: float
    exposed_copy_us: float
    free_us: float


class RankSummary(msgspec.Struct, frozen=True):
    """Medians per step over the typical steps of a rank."""

    rank: int
    host: str | None
    device_kind: str | None
    device_name: str | None
    steps: int
    duration_us: float | None
    interval_us: float | None
    forward_backward_us: float | None
    tail_us: float | None
    device_span_us: float | None
    computing_us: float | None
    pure_computing_us: float | None
    communication_us: float | None
    overlapped_us: float | None
    exposed_communication_us: float | None
    receive_alone_us: float | None
    collective_alone_us: float | None
    exposed_copy_us: float | None
    free_us: float | None
    enclosing_us: float | None
    preparing_us: float | None
    bubble_us: float | None
    stage_us: float | None
    idle_us: float | None
    statistics: StepStatistics
    window: WholeWindow | None


class GroupShare(msgspec.Struct, frozen=True):
    """One part of the step's time among some ranks."""

    group: str
    dimension: str | None
    share: float
    spread_share: float
    flagged: bool
    reasons: list[str]
    ranks: list[int]


class Delimitation(msgspec.Struct, frozen=True):
    """One part of the step's time among all ranks, and within each communication group that was captured in part."""

    share: float
    spread_share: float
    flagged: bool
    reasons: list[str]
    ranks: list[int]
    groups: list[GroupShare]


class Parts(msgspec.Struct, frozen=True):
    """The three places to look."""

    computing: Delimitation
    communication: Delimitation
    free: Delimitation


class Summary(msgspec.Struct, frozen=True):
    """A run at a glance."""

    ranks: list[RankSummary]
    delimitation: Parts | None


@question()
def summary(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[Summary]:
    """Medians per rank and the delimitation; ``steps`` limits what is counted."""
    trace = step_trace(store, ranks=ranks, steps=steps)
    counted = typical(trace.data).with_columns(total_us=pl.max_horizontal("duration_us", "device_span_us"))
    counted = counted.with_columns(
        working_us=pl.col("computing_us") + pl.col("enclosing_us"),
        # What is neither computing nor exposed, also before the first device work of the step.
        idle_us=pl.col("total_us")
        - pl.col("computing_us")
        - pl.col("enclosing_us")
        - pl.col("exposed_communication_us")
        - pl.col("exposed_copy_us"),
    )
    shares = [(pl.col(column) / pl.col("total_us")).median().alias(f"{part}_share") for part, column in _PARTS.items()]
    medians = (
        counted.group_by("rank")
        .agg(pl.len().alias("steps"), pl.col(*_FIELDS, "idle_us", "working_us", "total_us").median(), *shares)
        .sort("rank")
    )
    about = store.scan("ranks").select("rank", "host", "device_kind", "device_name").collect()
    fields = medians.select("rank", "steps", *_FIELDS, "idle_us")
    rows = fields.join(about, on="rank", how="left").with_columns(
        pl.col("host", "device_kind", "device_name").cast(pl.String)
    )
    statistics = {entry.rank: entry for entry in step_statistics(trace.data)}
    entries = [
        RankSummary(**row, statistics=statistics[row["rank"]], window=whole_window(work_of(store, row["rank"])))
        for row in rows.iter_rows(named=True)
    ]
    return Answer(Summary(entries, _parts(store, medians)), trace.notes)


def whole_window(work: Work) -> WholeWindow | None:
    """The breakdown over everything a rank did on its device."""
    if not len(work.start):
        return None
    compute, communication, copy = (
        union(work.start[work.of(lane)], work.end[work.of(lane)]) for lane in (COMPUTE, COMMUNICATION, COPY)
    )
    span = int(work.end.max() - work.start.min())
    working = joined(compute, communication)
    exposed, busy = working.length - compute.length, joined(working, copy).length
    copies = busy - working.length
    return WholeWindow(*(value / 1000 for value in (span, busy, compute.length, exposed, copies, span - busy)))


def _parts(store: RunStore, medians: pl.DataFrame) -> Parts | None:
    known = medians.drop_nulls(["computing_us", "duration_us"])
    if known.is_empty():
        return None
    members = _groups(store, known["rank"].to_list())
    found = {}
    for part, column in _PARTS.items():
        whole = _share(part, column, known, "all", None)
        groups = [
            _share(part, column, known.filter(pl.col("rank").is_in(ranks)), group, dimension)
            for group, dimension, ranks in members
        ]
        found[part] = Delimitation(whole.share, whole.spread_share, whole.flagged, whole.reasons, whole.ranks, groups)
    return Parts(**found)


def _groups(store: RunStore, captured: list[int]) -> list[tuple[str, str | None, list[int]]]:
    """Groups with at least two captured members, less those that hold all of them."""
    rows = (
        store.scan("groups")
        .select(pl.col("group").cast(pl.String), pl.col("dimension").cast(pl.String), "ranks")
        .collect()
    )
    found: dict[tuple[int, ...], tuple[str, str | None, list[int]]] = {}
    for group, dimension, ranks in rows.iter_rows():
        there = sorted(set(ranks or []) & set(captured))
        if 1 < len(there) < len(captured):
            found.setdefault(tuple(there), (group, dimension, there))
    return list(found.values())


def _share(part: str, column: str, rows: pl.DataFrame, group: str, dimension: str | None) -> GroupShare:
    limits = delimitation_facts()
    total = rows["total_us"].to_numpy()
    value = rows[column].to_numpy()
    share = float(rows[f"{part}_share"].to_numpy().mean())
    spread = float((value.max() - value.min()) / total.mean())
    reasons = []
    if share > limits.largest_share.get(part, 1.0):
        reasons.append("share")
    if spread > limits.largest_spread_share:
        reasons.append("spread")
    # A rank that communicates least is the one the others wait for.
    typical_value = float(np.median(value))
    away = (typical_value - value) if part == "communication" else (value - typical_value)
    apart = away > limits.largest_spread_share * total.mean()
    outstanding = [int(rank) for rank in rows["rank"].to_numpy()[apart]] if "spread" in reasons else []
    return GroupShare(group, dimension, share, spread, bool(reasons), reasons, outstanding)
