"""Where the time of a run goes: the mean step of each rank, and which part of it stands out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.idle import IdleByCause, idle_of
from stepscope.analysis.foundation.intervals import joined, union
from stepscope.analysis.foundation.kept import kept
from stepscope.analysis.foundation.microseconds import to_picoseconds
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.step_pattern import Pattern
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds, Share, fields_in
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE, COPY, Work, work_of
from stepscope.analysis.step_statistics import StepStatistics, typical
from stepscope.analysis.step_times import StepTimes
from stepscope.analysis.steps import Step
from stepscope.analysis.steps import steps as step_trace
from stepscope.facts.delimitation import delimitation_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

_FIELDS: Final = fields_in("us", Step)

#: Of as many ranks the answer is kept beside the run: all their slices are read for it.
_KEPT_FROM_RANKS: Final = 32
_MADE_FROM: Final = ("analysis", "facts", "store")

_PARTS: Final = {"computing": "computing_us", "communication": "exposed_communication_us", "free": "idle_us"}


class WholeWindow(msgspec.Struct, frozen=True):
    """All device work of a rank at once, from its first to its last, whatever step it belongs to."""

    span_us: Microseconds
    busy_us: Microseconds
    computing_us: Microseconds
    exposed_communication_us: Microseconds
    exposed_copy_us: Microseconds
    free_us: Microseconds


class RankSummary(StepTimes, frozen=True):
    """The mean of the counted steps of a rank, whose parts add up to its period, and how periods are spread."""

    rank: Identifier
    host: str | None
    device_kind: str | None
    device_name: str | None
    steps: Count
    period_median_us: Microseconds
    period_p95_us: Microseconds
    period_max_us: Microseconds
    pattern: Pattern | None
    before_window_us: Microseconds
    profiler_overhead_us: Microseconds
    statistics: StepStatistics
    window: WholeWindow | None


class GroupShare(msgspec.Struct, frozen=True):
    """One part of the step's time among some ranks."""

    group: str
    dimension: str | None
    share: Share
    spread_share: Share
    flagged: bool
    reasons: list[str]
    ranks: list[Identifier]


class Delimitation(msgspec.Struct, frozen=True):
    """One part of the step's time among all ranks, and within each communication group that was captured in part."""

    share: Share
    spread_share: Share
    flagged: bool
    reasons: list[str]
    ranks: list[Identifier]
    groups: list[GroupShare]


class Parts(msgspec.Struct, frozen=True):
    """The three parts of the step's time."""

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
    """The mean step of each rank and the delimitation; ``steps`` limits what is counted."""
    if ranks or steps or len(store.ranks) < _KEPT_FROM_RANKS:
        return _work_out(store, ranks, steps)
    whole = kept(store, "summary", _KeptSummary, _MADE_FROM, _of_all_ranks)
    return Answer(whole.summary, whole.notes)


class _KeptSummary(msgspec.Struct, frozen=True):
    summary: Summary
    notes: list[Note]


def _of_all_ranks(store: RunStore) -> _KeptSummary:
    answer = _work_out(store, None, None)
    return _KeptSummary(answer.data, answer.notes)


def _work_out(store: RunStore, ranks: Sequence[int] | None, steps: Sequence[int] | None) -> Answer[Summary]:
    trace = step_trace(store, ranks=ranks, steps=steps)
    means = _mean_steps(typical(trace.data))
    about = store.scan("ranks").select("rank", pl.col("host", "device_kind", "device_name").cast(pl.String)).collect()
    statistics = {entry.rank: entry for entry in trace.beside["statistics"]}
    entries = []
    for row in means.join(about, on="rank", how="left", maintain_order="left").iter_rows(named=True):
        rank, own = row["rank"], statistics[row["rank"]]
        causes = row.pop("idle_by_cause")
        entries.append(
            RankSummary(
                **row,
                idle_by_cause=None if row["idle_us"] is None else IdleByCause(**causes),
                pattern=own.pattern,
                statistics=own,
                **vars(outside_steps(store, rank)),
            )
        )
    return Answer(Summary(entries, _parts(store, means)), trace.notes)


@dataclass(frozen=True)
class OutsideSteps:
    """What a rank did whatever step it belongs to."""

    before_window_us: float
    profiler_overhead_us: float
    window: WholeWindow | None


@cached_summary_per_rank
def outside_steps(store: RunStore, rank: int) -> OutsideSteps:
    """That of a rank."""
    work = work_of(store, rank)
    return OutsideSteps(
        before_window_us(work),
        _profiler_overhead_us(store, rank),
        whole_window(work, periods_of(store, rank).unseen[1]),
    )


def _mean_steps(counted: pl.DataFrame) -> pl.DataFrame:
    """One row per rank. Means over the same steps add up as the steps do, and a stall in every fourth step counts."""
    causes = counted.select("rank", "idle_by_cause").unnest("idle_by_cause").columns[1:]
    period = pl.col("period_us")
    return (
        counted.group_by("rank")
        .agg(
            pl.len().alias("steps"),
            to_picoseconds(pl.col(*_FIELDS).mean()),
            period.median().alias("period_median_us"),
            to_picoseconds(period.quantile(0.95, "linear")).alias("period_p95_us"),
            period.max().alias("period_max_us"),
            idle_by_cause=pl.struct(
                to_picoseconds(pl.col("idle_by_cause").struct.field(name).mean()).alias(name) for name in causes
            ),
        )
        .sort("rank")
    )


def before_window_us(work: Work) -> float:
    """How long the device still worked on what was launched before the capture began."""
    return union(work.start[work.before_window], work.end[work.before_window]).length / 1000


def _profiler_overhead_us(store: RunStore, rank: int) -> float:
    """What the profiler recorded as its own doing, in steps and outside of them."""
    host = idle_of(store, rank).host
    return host.where(host.of_category("profiler")).length / 1000


def whole_window(work: Work, since: int = 0) -> WholeWindow | None:
    """The breakdown over everything a rank did on its device, or did since a moment."""
    after = work.end > since
    if not after.any():
        return None
    start, end = np.maximum(work.start, since), work.end
    compute, communication, copy = (
        union(start[after & work.of(lane)], end[after & work.of(lane)]) for lane in (COMPUTE, COMMUNICATION, COPY)
    )
    span = int(end.max() - start[after].min())
    working = joined(compute, communication)
    exposed, busy = working.length - compute.length, joined(working, copy).length
    copies = busy - working.length
    return WholeWindow(*(value / 1000 for value in (span, busy, compute.length, exposed, copies, span - busy)))


def _parts(store: RunStore, means: pl.DataFrame) -> Parts | None:
    known = means.drop_nulls(["computing_us", "idle_us"])
    if known.is_empty():
        return None
    members = _groups(store, known["rank"].to_list())
    parts = {}
    for part, column in _PARTS.items():
        whole = _share(part, column, known, "all", None)
        groups = [
            _share(part, column, known.filter(pl.col("rank").is_in(ranks)), group, dimension)
            for group, dimension, ranks in members
        ]
        parts[part] = Delimitation(whole.share, whole.spread_share, whole.flagged, whole.reasons, whole.ranks, groups)
    return Parts(**parts)


def _groups(store: RunStore, captured: list[int]) -> list[tuple[str, str | None, list[int]]]:
    """Groups with at least two captured members, less those that hold all of them."""
    rows = (
        store.scan("groups")
        .select(pl.col("group").cast(pl.String), pl.col("dimension").cast(pl.String), "ranks")
        .collect()
    )
    by_members: dict[tuple[int, ...], tuple[str, str | None, list[int]]] = {}
    for group, dimension, ranks in rows.iter_rows():
        there = sorted(set(ranks or []) & set(captured))
        if 1 < len(there) < len(captured):
            by_members.setdefault(tuple(there), (group, dimension, there))
    return list(by_members.values())


def _share(part: str, column: str, rows: pl.DataFrame, group: str, dimension: str | None) -> GroupShare:
    limits = delimitation_facts()
    total = rows["period_us"].to_numpy()
    value = rows[column].to_numpy()
    # A ratio of sums over all counted steps, so that shares add up and a rank with more steps does not count less.
    counted = rows["steps"].to_numpy()
    share = float((value * counted).sum() / (total * counted).sum())
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
