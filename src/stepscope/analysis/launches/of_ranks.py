"""The counted steps of a rank together: idle time and its main cause, activities, latency, and what bounds the rank."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Set
from typing import TypeVar

from stepscope.analysis.foundation.idle import CAUSES
from stepscope.analysis.launches.types import Activity, Idle, RankActivity, RankLaunches, StepLaunches

#: Rank and step of what averages count (``step_statistics.typical``).
Counted = Set[tuple[int, int]]
Entry = TypeVar("Entry", Activity, Idle, StepLaunches)


def rank_rows(idle: list[Idle], steps: list[StepLaunches], counted: Counted) -> list[RankLaunches]:
    """One entry per rank with known idle time."""
    launched = _by_rank([entry for entry in steps if entry.launches], counted)
    return [_of_rank(rank, entries, launched.get(rank, [])) for rank, entries in _by_rank(idle, counted).items()]


def _by_rank(entries: list[Entry], counted: Counted) -> dict[int, list[Entry]]:
    """Per rank its entries in the steps that averages count; all of them where it has none there."""
    of_rank: dict[int, list[Entry]] = {}
    for entry in entries:
        of_rank.setdefault(entry.rank, []).append(entry)
    return {rank: [entry for entry in own if (rank, entry.step) in counted] or own for rank, own in of_rank.items()}


def _of_rank(rank: int, idle: list[Idle], launched: list[StepLaunches]) -> RankLaunches:
    spent = {cause: sum(getattr(entry, f"{cause}_us") for entry in idle) for cause in CAUSES}
    total, span = sum(spent.values()), sum(entry.span_us for entry in idle)
    bounds = [entry.bound for entry in launched]
    return RankLaunches(
        rank=rank,
        idle_us=total,
        idle_share=total / span if span else 0.0,
        cause=max(spent, key=lambda cause: spent[cause]),
        latency_median_us=_median(entry.latency_median_us for entry in launched),
        host_bound_share=_median(entry.host_bound_share for entry in launched),
        bound=max(bounds, key=bounds.count) if bounds else None,
    )


def rank_activities(activities: list[Activity], counted: Counted) -> list[RankActivity]:
    """Activities of the counted steps of a rank together, the longest first."""
    total: dict[tuple[int, str], float] = {}
    for rank, entries in _by_rank(activities, counted).items():
        for entry in entries:
            total[rank, entry.activity] = total.get((rank, entry.activity), 0.0) + entry.idle_us
    rows = [RankActivity(rank, activity, spent) for (rank, activity), spent in total.items()]
    return sorted(rows, key=lambda row: (row.rank, -row.idle_us))


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
