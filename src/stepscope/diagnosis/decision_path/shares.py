"""Numbers that the decision trees ask for, as ``summary`` and the rules have them; nothing is measured here anew."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stepscope.analysis.summary import Delimitation, GroupShare, RankSummary, Summary
from stepscope.diagnosis.context import RunContext
from stepscope.facts.decision_trees import Measure


@dataclass(frozen=True)
class Measured:
    """A share of the mean step, and the ranks or the group that it is of; None where that was not recorded."""

    value: float | None
    ranks: list[int]
    group: str | None = None


def measured(run: RunContext, measure: Measure, of: str) -> list[Measured]:
    """The number of the whole job, then those of its groups; none where the question makes no sense for this run."""
    summary: Summary | None = run.answer("summary")
    if summary is None:
        return []
    return _MEASURES[measure](run, summary, of)


def _share(run: RunContext, summary: Summary, field: str) -> list[Measured]:
    return [Measured(_ratio((getattr(each, field), each) for each in summary.ranks), [])]


def _idle_share(run: RunContext, summary: Summary, cause: str) -> list[Measured]:
    known = [each for each in summary.ranks if each.idle_by_cause is not None]
    return [Measured(_ratio((getattr(each.idle_by_cause, f"{cause}_us"), each) for each in known), [])]


def _ratio(values: Iterable[tuple[float | None, RankSummary]]) -> float | None:
    """A ratio of sums over all counted steps; a mark on the host may end a little later than the device's work."""
    known = [(value * each.steps, each.period_us * each.steps) for value, each in values if value is not None]
    period = sum(whole for _, whole in known)
    return min(sum(part for part, _ in known) / period, 1.0) if period else None


def _spread(run: RunContext, summary: Summary, field: str) -> list[Measured]:
    if len(summary.ranks) < 2:
        return []
    return [_between({each.rank: getattr(each, field) for each in summary.ranks}, summary)]


def _stage_spread(run: RunContext, summary: Summary, field: str) -> list[Measured]:
    values = {each.rank: getattr(each, field) for each in summary.ranks}
    means: dict[int, float | None] = {}
    for ranks in run.plan.stages.values():
        known = [value for rank in ranks if (value := values.get(rank)) is not None]
        means |= dict.fromkeys(ranks, statistics.fmean(known) if known else None)
    return [_between(means, summary)]


def _spread_in_stage(run: RunContext, summary: Summary, field: str) -> list[Measured]:
    """Of the stage whose ranks differ most."""
    values = {each.rank: getattr(each, field) for each in summary.ranks}
    stages = [{rank: values.get(rank) for rank in ranks} for ranks in run.plan.stages.values() if len(ranks) > 1]
    spreads = [_between(stage, summary) for stage in stages]
    return [max(spreads, key=lambda each: each.value or 0.0)] if spreads else []


def _between(values: dict[int, float | None], summary: Summary) -> Measured:
    """How far members are apart, and who is the furthest above the middle."""
    known = {rank: value for rank, value in values.items() if value is not None}
    period = statistics.fmean(each.period_us for each in summary.ranks)
    if len(known) < 2 or not period:
        return Measured(None, [])
    largest = max(known.values())
    return Measured(
        (largest - min(known.values())) / period, [rank for rank, value in known.items() if value == largest]
    )


def _part_share(run: RunContext, summary: Summary, part: str) -> list[Measured]:
    if summary.delimitation is None:
        return [Measured(None, [])]
    whole: Delimitation = getattr(summary.delimitation, part)
    return [Measured(whole.share, [])]


def _part_spread(run: RunContext, summary: Summary, part: str) -> list[Measured]:
    if len(summary.ranks) < 2 or summary.delimitation is None:
        return []
    whole: Delimitation = getattr(summary.delimitation, part)
    return [
        Measured(whole.spread_share, whole.ranks),
        *(Measured(each.spread_share, each.ranks, each.group) for each in _widest(whole.groups)),
    ]


def _widest(groups: Sequence[GroupShare]) -> list[GroupShare]:
    """Of each dimension the group whose ranks differ most: one line stands for all of them."""
    by_dimension: dict[str | None, GroupShare] = {}
    for each in groups:
        known = by_dimension.get(each.dimension)
        if known is None or each.spread_share > known.spread_share:
            by_dimension[each.dimension] = each
    return list(by_dimension.values())


def _waiting_share(run: RunContext, summary: Summary, _: str) -> list[Measured]:
    """Where calls can be compared over ranks, of the time beside computing; else as each rank recorded its calls."""
    known = run.exposed_transfers or {
        rank: run.times[rank].communicating_us * (1 - waiting)
        for rank, waiting in run.recorded_waiting.items()
        if rank in run.times
    }
    exposed = sum(run.times[rank].communicating_us * len(run.times[rank].steps) for rank in known)
    moving = sum(moving_us * len(run.times[rank].steps) for rank, moving_us in known.items())
    return [Measured(max(1 - moving / exposed, 0.0) if exposed else None, [])]


_MEASURES: Final[dict[Measure, Callable[[RunContext, Summary, str], list[Measured]]]] = {
    "share": _share,
    "spread": _spread,
    "stage_spread": _stage_spread,
    "spread_in_stage": _spread_in_stage,
    "part_share": _part_share,
    "part_spread": _part_spread,
    "idle_share": _idle_share,
    "waiting_share": _waiting_share,
}
