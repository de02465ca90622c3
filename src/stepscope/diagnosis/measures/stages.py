"""Stages of a pipeline: which ranks they have, and how long each computes in each step, whatever single ranks do."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepscope.diagnosis.measures.outstanding import KnownSpread

if TYPE_CHECKING:
    from stepscope.diagnosis.context import RunContext


@dataclass(frozen=True)
class Stages:
    """By stage: its ranks, and microseconds of compute by step.

    Of a stage's ranks the one at the lower quartile counts: a slow rank does not make a slow stage.
    """

    ranks: dict[int, list[int]]
    computing: dict[int, list[float]]
    spread: KnownSpread | None
    period_us: float

    @property
    def last(self) -> int:
        return max(self.ranks)


def stages_of(run: RunContext) -> Stages | None:
    """None where the run has no stages, or they are not known."""
    ranks: dict[int, list[int]] = {}
    for rank in sorted(run.own_times):
        if (stage := run.plan.stage_of(rank)) is not None:
            ranks.setdefault(stage, []).append(rank)
    if len(ranks) < 2:
        return None
    series = {rank: run.own_times[rank].by_cause["compute"] for own in ranks.values() for rank in own}
    computing = {
        stage: [_lower_quartile(values) for values in zip(*(series[rank] for rank in own), strict=True)]
        for stage, own in ranks.items()
    }
    period = statistics.fmean(run.times[rank].period_us for rank in series)
    return Stages(ranks, computing, _spread(series, ranks), period)


def _lower_quartile(values: tuple[float, ...]) -> float:
    return sorted(values)[(len(values) - 1) // 4]


def _spread(series: dict[int, list[float]], ranks: dict[int, list[int]]) -> KnownSpread | None:
    """How much the quartiles of stages differ by the accident of which ranks they have; slow ranks left out."""
    means = (sorted(statistics.fmean(series[rank]) for rank in own) for own in ranks.values())
    usual = [own[: max(len(own) * 3 // 4, 1)] for own in means]
    return KnownSpread.of_groups(usual, min(map(len, ranks.values())))
