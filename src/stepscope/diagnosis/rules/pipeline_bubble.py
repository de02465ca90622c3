"""``pipeline_bubble``: stages stand still while the pipeline fills and drains, for want of micro-batches."""

from __future__ import annotations

import statistics

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.micro_batches import micro_batches
from stepscope.diagnosis.measures.stages import Stages
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts


def judge(run: RunContext) -> list[Finding]:
    """The bubble that follows from the number of micro-batches, as far as all stages waited so long."""
    stages = run.stages
    batches = None if stages is None else micro_batches(run, stages)
    if stages is None or not batches:
        return []
    limits = finding_facts().pipeline_bubble
    depth = len(stages.ranks) - 1
    plenty = limits.plenty_per_stage * len(stages.ranks)
    share = min(depth / (batches + depth), _waiting(run, stages) / stages.period_us)
    more = max(limits.more_micro_batches * batches, plenty)
    gain_share = share - min(depth / (more + depth), share)
    if batches >= plenty or not worth_telling(gain_share):
        return []
    losses = [
        Loss(
            rank=rank,
            cause="micro_batches",
            title="finding_title.pipeline_bubble",
            advice="finding_advice.pipeline_bubble",
            gain_us=gain_share * stages.period_us,
            gain_share=gain_share,
            gain_method="more_micro_batches",
            words={"stages": depth + 1, "batches": round(batches)},
            evidence=[
                number("bubble_share", share, "share", depth / (plenty + depth), "cluster"),
                number("micro_batches", batches, "count", link="cluster"),
            ],
            proof=[Proof(rank=rank, page="timeline")],
        )
        for ranks in stages.ranks.values()
        for rank in ranks
    ]
    return findings_of(run, "pipeline_bubble", losses, Next(("steps", "communication"), "steps"))


def _waiting(run: RunContext, stages: Stages) -> float:
    """Microseconds per step that the busiest stage waits in transfers and in calls with other stages."""
    across = pl.col("peer").is_not_null() | pl.col("across_stages")
    waits = run.calls.per_rank(
        lambda calls: calls.filter(across).group_by("rank").agg(wait_us=pl.col("exposed_wait_ns").sum() / 1000)
    )
    per_step = {rank: wait_us / len(run.times[rank].steps) for rank, wait_us in waits.iter_rows()}
    known = [[per_step[rank] for rank in ranks if rank in per_step] for ranks in stages.ranks.values()]
    return min((statistics.median(each) for each in known if each), default=0.0)


RULE = Rule(kinds=("pipeline_bubble",), needs=("stages",), judge=judge)
