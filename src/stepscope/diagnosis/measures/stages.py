"""Stages of a pipeline: which ranks they have, and how long each computes in each step, whatever single ranks do."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepscope.diagnosis.measures.outstanding import KnownSpread, standing_out
from stepscope.diagnosis.measures.own_time import mean_over
from stepscope.facts.findings import finding_facts

if TYPE_CHECKING:
    from stepscope.diagnosis.context import RunContext


@dataclass(frozen=True)
class Stages:
    """By stage: its ranks, and microseconds of compute by step.

    The mean of a stage's ranks, without those that stand out among them: a slow rank does not make a slow stage.
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
    period = statistics.fmean(run.times[rank].period_us for rank in series)
    least = finding_facts().slow_rank.least_excess_share
    usual = {}
    for stage, own in ranks.items():
        slow = standing_out({rank: series[rank] for rank in own}, period, least)
        usual[stage] = [series[rank] for rank in own if rank not in slow]
    # Means of stages differ by the accident of which ranks they have.
    means = ([statistics.fmean(steps) for steps in own] for own in usual.values())
    spread = KnownSpread.of_groups(means, min(map(len, usual.values())))
    return Stages(ranks, {stage: mean_over(own) for stage, own in usual.items()}, spread, period)
