"""The question ``cluster``: how a job is split, where the time of its parts goes, and what holds all of it up."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster.job import Job, job_of
from stepscope.analysis.cluster.part_times import PartTimes, balance, by_dimension, groups, hosts, stages
from stepscope.analysis.cluster.plan import ParallelPlan, PlanDimension, PlanGroup, PlanRank, plan_of
from stepscope.analysis.cluster.rank_rows import RankRow
from stepscope.analysis.cluster.slowdown.types import Slowdown
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.units import Count, Microseconds, Ratio, Share
from stepscope.analysis.foundation.work import ranks_of
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore


class Plan(msgspec.Struct, frozen=True):
    """How the job is split, and how that is known."""

    world_size: Count
    origin: str
    confidence: str
    dimensions: list[PlanDimension]
    ranks: list[PlanRank]
    groups: list[PlanGroup]

    @classmethod
    def of(cls, plan: ParallelPlan) -> Plan:
        """All of a plan."""
        return cls(plan.world_size, plan.origin, plan.confidence, plan.dimensions, plan.ranks, plan.groups)


class Bubble(msgspec.Struct, frozen=True):
    """What the stages of a pipeline wait for data of each other, over all ranks."""

    wait_us: Microseconds
    share: Share


class Cluster(msgspec.Struct, frozen=True):
    """A job as a whole; ``slowdown`` is null where no replay comes close to the recorded steps."""

    plan: Plan
    ranks: list[RankRow]
    by_dimension: list[PartTimes]
    stages: list[PartTimes]
    hosts: list[PartTimes]
    groups: list[PartTimes]
    bubble: Bubble | None
    stage_balance: Ratio | None
    expert_balance: Ratio | None
    slowdown: Slowdown | None


@question()
def cluster(store: RunStore, *, ranks: Sequence[int] | None = None) -> Answer[Cluster]:
    """Means of ranks, stages, hosts and groups; ``ranks`` chooses whose lines are shown, the rest is of all."""
    shown = set(ranks_of(store, ranks))
    plan, job = plan_of(store), job_of(store)
    if len(plan.ranks) < 2:
        raise NoAnswerError("cluster_needs_ranks")
    if job.slowdown is None and not any(row.steps or row.expert_tokens for row in job.ranks):
        raise NoAnswerError("no_steps")
    of_stages = stages(job.ranks, plan)
    answer = Cluster(
        plan=Plan.of(plan),
        ranks=[row for row in job.ranks if row.rank in shown],
        by_dimension=by_dimension(job.ranks, plan),
        stages=of_stages,
        hosts=hosts(job.ranks, plan),
        groups=groups(job.ranks, plan),
        bubble=_bubble(job, plan),
        stage_balance=balance([each.computing_us for each in of_stages]),
        expert_balance=balance([row.expert_tokens for row in job.ranks]),
        slowdown=_shown(job.slowdown, shown),
    )
    return Answer(answer, [*plan.notes(), *job.remarks()])


def _shown(slowdown: Slowdown | None, ranks: set[int]) -> Slowdown | None:
    if slowdown is None:
        return None
    return msgspec.structs.replace(slowdown, by_rank=[each for each in slowdown.by_rank if each.rank in ranks])


def _bubble(job: Job, plan: ParallelPlan) -> Bubble | None:
    known = [
        (row.pipeline_wait_us, row.period_us) for row in job.ranks if row.pipeline_wait_us is not None and row.period_us
    ]
    if plan.size("pp") < 2 or not known:
        return None
    waited, period = (sum(column) for column in zip(*known, strict=True))
    return Bubble(round(waited / len(known), 3), waited / period)
