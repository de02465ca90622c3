"""All steps of a rank together: idle time and its main cause, activities, latency, and what bounds the rank."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from stepscope.analysis.foundation.idle import CAUSES
from stepscope.analysis.launches.types import Activity, Idle, RankActivity, RankLaunches, StepLaunches


def rank_rows(idle: list[Idle], steps: list[StepLaunches]) -> list[RankLaunches]:
    """One entry per rank with known idle time; warm-up steps do not count in its latency where there are others."""
    return [
        _of_rank(
            rank,
            [entry for entry in idle if entry.rank == rank],
            [entry for entry in steps if entry.rank == rank and entry.launches],
        )
        for rank in dict.fromkeys(entry.rank for entry in idle)
    ]


def _of_rank(rank: int, idle: list[Idle], launched: list[StepLaunches]) -> RankLaunches:
    spent = {cause: sum(getattr(entry, f"{cause}_us") for entry in idle) for cause in CAUSES}
    total, span = sum(spent.values()), sum(entry.span_us for entry in idle)
    settled = [entry for entry in launched if not entry.warm_up] or launched
    bounds = [entry.bound for entry in settled]
    return RankLaunches(
        rank=rank,
        idle_us=total,
        idle_share=total / span if span else 0.0,
        cause=max(spent, key=lambda cause: spent[cause]),
        latency_median_us=_median(entry.latency_median_us for entry in settled),
        host_bound_share=_median(entry.host_bound_share for entry in settled),
        bound=max(bounds, key=bounds.count) if bounds else None,
    )


def rank_activities(activities: list[Activity]) -> list[RankActivity]:
    """Activities of all steps of a rank together, the longest first."""
    total: dict[tuple[int, str], float] = {}
    for entry in activities:
        total[entry.rank, entry.activity] = total.get((entry.rank, entry.activity), 0.0) + entry.idle_us
    rows = [RankActivity(rank, activity, spent) for (rank, activity), spent in total.items()]
    return sorted(rows, key=lambda row: (row.rank, -row.idle_us))


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
