"""``data_starved``: the step waits for its input, by the verdict on the input pipeline, else by idle time for data."""

from __future__ import annotations

from typing import Final

from stepscope.analysis.pipeline.structure import Pipeline, Verdict
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence import gaps_as_proof, number
from stepscope.diagnosis.finding import Bilingual, Finding, Proof, Where
from stepscope.diagnosis.losses import IDLE_REMOVED, Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rhythm import when
from stepscope.diagnosis.rule import Rule

_CAUSES: Final = {"pipeline": "processing", "transfer": "transfer", "user_code": "user_code", "getnext": "getnext"}
_TITLES: Final = {
    "processing": "finding_title.data_processing",
    "transfer": "finding_title.data_transfer",
    "user_code": "finding_title.data_user_code",
    "getnext": "finding_title.data_getnext",
}


def judge(run: RunContext) -> list[Finding]:
    """One finding per cause and stage of the pipeline."""
    pipeline: Pipeline | None = run.answer("pipeline")
    verdicts = {verdict.rank: verdict for verdict in pipeline.verdicts} if pipeline is not None else {}
    losses = []
    for rank in run.ranks:
        verdict = verdicts.get(rank)
        by_pipeline = pipeline is not None and verdict is not None and verdict.bound in _CAUSES
        loss = _by_pipeline(run, pipeline, verdict) if by_pipeline and pipeline and verdict else _by_idle(run, rank)
        if loss is not None:
            losses.append(loss)
    return findings_of(run, "data_starved", losses, Next(("pipeline", "cpu"), "pipeline"))


def _by_pipeline(run: RunContext, pipeline: Pipeline, verdict: Verdict) -> Loss:
    cause = _CAUSES[verdict.bound]
    speedup, period = verdict.potential_speedup, verdict.period_us
    known = speedup is not None and period is not None
    share = 1 - 1 / speedup if speedup is not None and period is not None else None
    starving = next((entry for entry in pipeline.starving if entry.rank == verdict.rank), None)
    by_step = starving is not None and starving.unit == "step"
    stage = f" ({verdict.op_name})" if verdict.op_name else ""
    waits = gaps_as_proof(run, verdict.rank, lambda gap: gap.cause == "data")
    return Loss(
        rank=verdict.rank,
        cause=cause,
        title=_TITLES[cause],
        advice=_advice(verdict),
        gain_us=period * share if period is not None and share is not None else None,
        gain_share=share,
        gain_method="pipeline_next_limit" if known else None,
        where=Where(pipeline_op=verdict.op_name),
        words={"stage": stage, "when": when(run.times.get(verdict.rank), "data")},
        confidence="confirmed" if verdict.certain else "suspect",
        # Where the length of a step is not known, the queues alone accuse.
        severity=None if known else "warning" if verdict.certain else "info",
        evidence=[number(each.metric, each.value, each.unit, each.baseline, "data") for each in verdict.evidence],
        steps=starving.which if starving is not None and by_step else [],
        proof=[Proof(rank=verdict.rank, page="data"), *waits],
    )


def _advice(verdict: Verdict) -> str | Bilingual:
    """What the analysis of the pipeline advises, else what always helps."""
    if not verdict.advice:
        return "finding_advice.data_starved"
    return Bilingual(" ".join(each.en for each in verdict.advice), "".join(each.zh for each in verdict.advice))


def _by_idle(run: RunContext, rank: int) -> Loss | None:
    """No pipeline was recorded, or it looks fine on the whole, and yet the device waited for data."""
    time = run.times.get(rank)
    if time is None or not worth_telling(share := time.share(idle := time.idle_by_cause.get("data", 0.0))):
        return None
    return Loss(
        rank=rank,
        cause="processing",
        title="finding_title.data_processing",
        advice="finding_advice.data_starved",
        gain_us=idle,
        gain_share=share,
        gain_method=IDLE_REMOVED,
        words={"stage": "", "when": when(time, "data")},
        evidence=[number("idle_for_data_share", share, "share", link="timeline")],
        steps=time.spread.long_steps if time.spread is not None and when(time, "data") else [],
        proof=gaps_as_proof(run, rank, lambda gap: gap.cause == "data"),
    )


RULE = Rule(kinds=("data_starved",), needs=("waiting_for_data",), judge=judge)
