"""``data_starved``: the step waits for its input, by the verdict on the input pipeline, else by idle time for data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepscope.analysis.pipeline.structure import Pipeline, Verdict
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.gaps import gaps_as_proof
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rhythm import when
from stepscope.diagnosis.finding import Bilingual, Finding, FindingEvidence, GainMethod, Proof, Where
from stepscope.diagnosis.losses import IDLE_REMOVED, Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.batch_code import idle_behind_batch_us
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.rule import Rule

_CAUSES: Final = {"pipeline": "processing", "transfer": "transfer", "user_code": "user_code", "getnext": "getnext"}
_TITLES: Final = {
    "processing": "finding_title.data_processing",
    "transfer": "finding_title.data_transfer",
    "user_code": "finding_title.data_user_code",
    "getnext": "finding_title.data_getnext",
}
_TITLE_WITH_STAGE: Final = "finding_title.data_processing_stage"


def judge(run: RunContext) -> list[Finding]:
    """One finding per cause and stage of the pipeline."""
    pipeline: Pipeline | None = run.answer("pipeline")
    verdicts = {verdict.rank: verdict for verdict in pipeline.verdicts} if pipeline is not None else {}
    losses = []
    for rank in run.ranks:
        verdict = verdicts.get(rank)
        by_pipeline = pipeline is not None and verdict is not None and verdict.bound in _CAUSES
        loss = _by_pipeline(run, pipeline, verdict) if by_pipeline and pipeline and verdict else _by_idle(run, rank)
        loss = loss or _by_own_code(run, rank)
        if loss is not None:
            losses.append(loss)
    return findings_of(run, "data_starved", losses, Next(("pipeline", "cpu"), "pipeline"))


def _by_pipeline(run: RunContext, pipeline: Pipeline, verdict: Verdict) -> Loss:
    cause = _CAUSES[verdict.bound]
    time = run.times.get(verdict.rank)
    measured = cause != "user_code" and time is not None and worth_telling(time.share(time.idle_by_cause["data"]))
    gain = _measured_gain(time, verdict) if measured and time is not None else _gain_by_pipeline(verdict)
    starving = next((entry for entry in pipeline.starving if entry.rank == verdict.rank), None)
    by_step = starving is not None and starving.unit == "step"
    waits = gaps_as_proof(run, verdict.rank, lambda gap: gap.cause == "data")
    return Loss(
        rank=verdict.rank,
        cause=cause,
        title=_TITLE_WITH_STAGE if cause == "processing" and verdict.op_name else _TITLES[cause],
        advice=_advice(verdict),
        gain_us=gain.us,
        gain_share=gain.share,
        gain_method=gain.method,
        where=Where(pipeline_op=verdict.op_name),
        words={"stage": verdict.op_name, "when": when(time, "data")},
        confidence="confirmed" if verdict.certain else "likely" if measured else "suspect",
        # Where the length of a step is not known, the queues alone accuse.
        severity=None if gain.share is not None else "warning" if verdict.certain else "info",
        evidence=[
            *([] if verdict.wait_share is not None or time is None or not measured else [_idle_for_data(time)]),
            *(number(each.metric, each.value, each.unit, each.baseline, "data") for each in verdict.evidence),
        ],
        steps=starving.which if starving is not None and by_step else [],
        proof=[Proof(rank=verdict.rank, page="data"), *waits],
    )


@dataclass(frozen=True)
class _Gain:
    us: float | None
    share: float | None
    method: GainMethod | None


def _measured_gain(time: RankTime, verdict: Verdict) -> _Gain:
    """The idle time for data, as far as no other stage would be the limit then."""
    idle = time.idle_by_cause["data"]
    if verdict.limited_by in (None, "training") or not verdict.potential_speedup or verdict.period_us is None:
        return _Gain(idle, time.share(idle), IDLE_REMOVED)
    pace = verdict.period_us / verdict.potential_speedup
    gain = min(idle, max(time.period_us - pace, 0.0))
    return _Gain(gain, time.share(gain), "pipeline_next_limit")


def _gain_by_pipeline(verdict: Verdict) -> _Gain:
    """What the analysis of the pipeline expects, where idle time for data was not recorded."""
    if verdict.potential_speedup is None or verdict.period_us is None:
        return _Gain(None, None, None)
    share = 1 - 1 / verdict.potential_speedup
    return _Gain(verdict.period_us * share, share, "pipeline_next_limit")


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
    long = time.waits_mostly_in("data")
    return Loss(
        rank=rank,
        cause="processing",
        title="finding_title.data_processing",
        advice="finding_advice.data_starved",
        gain_us=idle,
        gain_share=share,
        gain_method=IDLE_REMOVED,
        words={"stage": "", "when": when(time, "data")},
        evidence=[_idle_for_data(time)],
        steps=[] if long is None else long.steps,
        proof=gaps_as_proof(run, rank, lambda gap: gap.cause == "data"),
    )


def _by_own_code(run: RunContext, rank: int) -> Loss | None:
    """The batch was there in time, and the script did something else first."""
    time = run.times.get(rank)
    if time is None or not worth_telling(time.share(time.idle_by_cause.get("host", 0.0))):
        return None
    gain = idle_behind_batch_us(run.store, time)
    if not worth_telling(time.share(gain)):
        return None
    return Loss(
        rank=rank,
        cause="user_code",
        title="finding_title.data_user_code",
        advice="finding_advice.data_user_code",
        gain_us=gain,
        gain_share=time.share(gain),
        gain_method="host_work_removed",
        words={"when": when(time, "host")},
        evidence=[number("idle_behind_batch_share", time.share(gain), "share", link="timeline")],
        proof=gaps_as_proof(run, rank, lambda gap: gap.cause == "host"),
    )


def _idle_for_data(time: RankTime) -> FindingEvidence:
    return number("idle_for_data_share", time.share(time.idle_by_cause["data"]), "share", link="timeline")


RULE = Rule(kinds=("data_starved",), needs=("waiting_for_data",), judge=judge)
