"""``operator_compile``: the host compiles while the device waits; steps of warm-up, which do so at first, are named."""

from __future__ import annotations

import polars as pl

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.gaps import gaps_as_proof
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.diagnosis.losses import IDLE_REMOVED, Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.compiling import compiling_on_processor_us, compiling_us
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.rule import Rule
from stepscope.texts.numbers import ranges


def judge(run: RunContext) -> list[Finding]:
    """Compiling in counted steps costs time; warm-up is worth knowing."""
    steps: pl.DataFrame | None = run.answer("steps")
    warm_up = None if steps is None else steps.filter("warm_up")
    losses = []
    for rank, time in run.times.items():
        losses += [loss for loss in (_compiling(run, time), _warm_up(rank, time, warm_up)) if loss is not None]
    return findings_of(run, "operator_compile", losses, Next(("steps", "launches"), "steps"))


def _compiling(run: RunContext, time: RankTime) -> Loss | None:
    on_processor = compiling_on_processor_us(run, time)
    idle = on_processor or compiling_us(run, time)
    share = time.share(idle)
    if not worth_telling(share):
        return None
    return Loss(
        rank=time.rank,
        cause="compile",
        title="finding_title.operator_compile",
        advice="finding_advice.operator_compile",
        gain_us=idle,
        gain_share=share,
        gain_method="host_work_removed" if on_processor else IDLE_REMOVED,
        evidence=[number("idle_while_compiling_share", share, "share", link="timeline")],
        proof=gaps_as_proof(run, time.rank, lambda gap: gap.activity == "compile"),
    )


def _warm_up(rank: int, time: RankTime, steps: pl.DataFrame | None) -> Loss | None:
    if steps is None or steps.is_empty():
        return None
    rows = steps.filter(pl.col("rank") == rank)
    longest = rows["duration_us"].max()
    if rows.is_empty() or not isinstance(longest, float):
        return None
    return Loss(
        rank=rank,
        cause="warm_up",
        title="finding_title.warm_up",
        advice="finding_advice.warm_up",
        gain_us=None,
        gain_share=None,
        gain_method=None,
        severity="info",
        words={"steps": ranges(rows["step"].to_list())},
        evidence=[number("warm_up_us", longest, "us", time.period_us, "steps")],
        steps=rows["step"].to_list(),
        proof=[Proof(rank=rank, page="steps")],
    )


RULE = Rule(kinds=("operator_compile",), needs=("step_times",), judge=judge)
