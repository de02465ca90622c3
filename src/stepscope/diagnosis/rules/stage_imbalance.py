"""``stage_imbalance``: one pipeline stage has more to do than the others, which wait for it."""

from __future__ import annotations

import statistics
from typing import Final

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.micro_batches import micro_batches, times_in_pass
from stepscope.diagnosis.measures.outstanding import standing_out
from stepscope.diagnosis.measures.stages import Stages
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts

_TITLES: Final = {
    "layers": "finding_title.stage_imbalance_layers",
    "last_stage": "finding_title.stage_imbalance_last_stage",
    None: "finding_title.stage_imbalance_last_stage_probably",
}
_ADVICE: Final = {
    "layers": "finding_advice.stage_imbalance_layers",
    "last_stage": "finding_advice.stage_imbalance_last_stage",
}


def judge(run: RunContext) -> list[Finding]:
    """Stages that compute longer than the others."""
    stages = run.stages
    if stages is None:
        return []
    long = standing_out(stages.computing, stages.period_us, finding_facts().strength.mild_share, stages.spread)
    losses = [loss for stage in long for loss in _losses(run, stages, stage, list(long))]
    return findings_of(run, "stage_imbalance", losses, Next(("summary", "steps"), "summary"))


def _losses(run: RunContext, stages: Stages, stage: int, long: list[int]) -> list[Loss]:
    others = [series for other, series in stages.computing.items() if other not in long]
    next_longest = [max(values) for values in zip(*others, strict=True)]
    above = [own - other for own, other in zip(stages.computing[stage], next_longest, strict=True)]
    gain = statistics.fmean(above)
    if not worth_telling(gain / stages.period_us):
        return []
    shown = _cause(run, stages, stage)
    cause = shown or "last_stage"
    usual = statistics.fmean(statistics.fmean(series) for series in others)
    return [
        Loss(
            rank=rank,
            cause=cause,
            title=_TITLES[shown],
            advice=_ADVICE[cause],
            gain_us=gain,
            gain_share=gain / stages.period_us,
            gain_method="stage_evened",
            where=Where(stage=stage),
            words={"stage": stage},
            evidence=[number("stage_computing", statistics.fmean(stages.computing[stage]), "us", usual, "cluster")],
            proof=[Proof(rank=rank, page="timeline")],
        )
        for rank in stages.ranks[stage]
    ]


def _cause(run: RunContext, stages: Stages, stage: int) -> str | None:
    """Of the last stage: whether all kernels take longer than those of the stage before, or single ones: the loss.

    Where kernels were not recorded one by one, the stretches of compute of a micro-batch tell it by their place. None
    where these are too few.
    """
    if stage != stages.last:
        return "layers"
    ranks = [stages.ranks[each][0] for each in (stage, sorted(stages.ranks)[-2])]
    least = finding_facts().stage_imbalance.least_kernel_names
    own, other = (_kernel_times(run, rank) for rank in ranks)
    if len(own.keys() & other.keys()) < least:
        passes = round(micro_batches(run, stages))
        own, other = (dict[str | int, float](enumerate(times_in_pass(run, rank, "forward", passes))) for rank in ranks)
    names = [name for name in own if other.get(name)]
    if len(names) < least:
        return None
    whole = sum(own.values()) / sum(other.values())
    usual = statistics.median(own[name] / other[name] for name in names)
    return "layers" if usual - 1 >= (whole - 1) / 2 else "last_stage"


def _kernel_times(run: RunContext, rank: int) -> dict[str | int, float]:
    kernels = run.store.scan("slices", [rank]).filter(
        (pl.col("kind").cast(pl.String) == "kernel") & pl.col("step").is_in(run.own_times[rank].steps)
    )
    return dict(kernels.group_by(pl.col("name").cast(pl.String)).agg(pl.col("dur_ns").sum()).collect().iter_rows())


RULE = Rule(kinds=("stage_imbalance",), needs=("stages",), judge=judge)
