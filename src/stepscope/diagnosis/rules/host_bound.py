"""``host_bound``: the device waits because the host launches its work too late."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from stepscope.analysis.cpu import CpuRank
from stepscope.analysis.foundation.host_activity import host_of
from stepscope.analysis.launches.types import Activity, Statistics
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.gaps import gaps_as_proof
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rhythm import when
from stepscope.diagnosis.finding import Bilingual, Finding, FindingEvidence, Where
from stepscope.diagnosis.losses import CORES_FREE, IDLE_REMOVED, Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.measures.busy_host import BusyPlace, busy_place, is_mostly_between_operators
from stepscope.diagnosis.measures.compiling import compiling_us
from stepscope.diagnosis.measures.contention import lost_to_others_us, without_core_share
from stepscope.diagnosis.measures.dispatching import as_busy_as
from stepscope.diagnosis.measures.first_use import first_use_of
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import percent

#: What the host did meanwhile, as a cause.
_CAUSES: Final = {
    "operator": "dispatch",
    "launch": "dispatch",
    "runtime": "dispatch",
    "allocation": "allocation",
    "other": "python",
}
_TITLES: Final = {
    "dispatch": "finding_title.host_dispatch",
    "allocation": "finding_title.host_allocation",
    "python": "finding_title.host_python",
    "unknown": "finding_title.host_unknown",
    "cpu_contention": "finding_title.host_cpu_contention",
}
_ADVICE: Final = {
    "dispatch": "finding_advice.host_dispatch",
    "allocation": "finding_advice.host_allocation",
    "python": "finding_advice.host_python",
    "unknown": "finding_advice.host_unknown",
    "cpu_contention": "finding_advice.host_cpu_contention",
}


#: Mended in another way than the rest of what a host does, so they are told by themselves.
_ALLOCATION: Final = "allocation"
_CONTENTION: Final = "cpu_contention"


@dataclass(frozen=True)
class _Waiting:
    """Idle time per step of a rank's device for its host, because of one thing that the host did.

    Without an accelerator, all time that the host had no core.
    """

    time: RankTime
    cause: str
    idle_us: float


def judge(run: RunContext) -> list[Finding]:
    """Ranks whose device waits for the host, by what the host did meanwhile."""
    waiting = [part for time in run.times.values() for part in _waiting(run, time)]
    losses = []
    for cause in dict.fromkeys(part.cause for part in waiting):
        parts = [part for part in waiting if part.cause == cause]
        # Ranks of one job run the same program: where the worst of them spends its time is told for all.
        worst = max(parts, key=lambda part: part.idle_us)
        place = None if cause in (_ALLOCATION, _CONTENTION) else busy_place(run.store, worst.time)
        losses += [_loss(run, part, place) for part in parts]
    losses += _as_busy(run, losses)
    return findings_of(run, "host_bound", losses, Next(("launches", "critical-path"), "launches"))


def _as_busy(run: RunContext, losses: list[Loss]) -> list[Loss]:
    """Ranks that wait for others now, and would wait for their own host if those no longer came late."""
    dispatch = [loss for loss in losses if loss.cause == "dispatch" and loss.rank in run.dispatching]
    if not dispatch:
        return []
    alike = set(as_busy_as(run, [loss.rank for loss in dispatch])) - {loss.rank for loss in losses}
    gain_us = statistics.fmean(loss.gain_us or 0.0 for loss in dispatch)
    return [
        replace(dispatch[0], rank=rank, gain_us=gain_us, gain_share=run.times[rank].share(gain_us), proof=[])
        for rank in sorted(alike)
    ]


def _waiting(run: RunContext, time: RankTime) -> Iterator[_Waiting]:
    # Compiling is a kind of its own, and setting up the device is told of the capture.
    idle = time.idle_by_cause.get("host", 0.0) - compiling_us(run, time)
    spent = _spent_us(run, time)
    first = first_use_of(run, time)
    if first is not None:
        idle -= first.idle_us
        for cause, own in ((_ALLOCATION, first.allocating_us), ("dispatch", first.idle_us - first.allocating_us)):
            spent[cause] = max(0.0, spent.get(cause, 0.0) - own)
    if worth_telling(time.share(min(spent.get(_ALLOCATION, 0.0), idle))):
        allocating = min(spent.pop(_ALLOCATION), idle)
        yield _Waiting(time, _ALLOCATION, allocating)
        idle -= allocating
    starved = idle * without_core_share(run, time.rank)
    lost = lost_to_others_us(run, time) if run.device_kind(time.rank) == "cpu" else starved
    if worth_telling(time.share(lost)):
        yield _Waiting(time, _CONTENTION, lost)
        idle -= starved
    if worth_telling(time.share(idle)):
        yield _Waiting(time, _main_cause(run, time.rank, spent), idle)


def _main_cause(run: RunContext, rank: int, spent: dict[str, float]) -> str:
    cause = max(spent, key=lambda cause: spent[cause], default="dispatch")
    if cause == "python" and run.device_kind(rank) == "cpu" and is_mostly_between_operators(run.store, run.times[rank]):
        return "dispatch"
    # Between calls of the runtime alone nobody can tell Python from dispatching.
    return "unknown" if cause == "python" and not _code_recorded(run, rank) else cause


def _code_recorded(run: RunContext, rank: int) -> bool:
    """Whether the capture holds operators or Python of the host, beside calls of the runtime."""
    return bool(host_of(run.store, rank).of("operator", "python", "module").any())


def _spent_us(run: RunContext, time: RankTime) -> dict[str, float]:
    """By cause, how long the host was busy per counted step while the device waited."""
    spent: dict[str, float] = {}
    activities: list[Activity] = run.entries("launches", "activities", time.rank)
    for entry in activities:
        if entry.activity in _CAUSES and entry.step in time.steps:
            cause = _CAUSES[entry.activity]
            spent[cause] = spent.get(cause, 0.0) + entry.idle_us / len(time.steps)
    return spent


def _loss(run: RunContext, part: _Waiting, place: BusyPlace | None) -> Loss:
    time, share = part.time, part.time.share(part.idle_us)
    without_core = part.cause == _CONTENTION and run.device_kind(time.rank) == "cpu"
    lost = "waiting_for_core_share" if without_core else "idle_for_host_share"
    return Loss(
        rank=time.rank,
        cause=part.cause,
        title=_TITLES[part.cause],
        advice=_advice(part.cause, place, has_stacks=bool(host_of(run.store, time.rank).of("python").any())),
        gain_us=part.idle_us,
        gain_share=share,
        gain_method=CORES_FREE if without_core else IDLE_REMOVED,
        where=Where() if place is None else place.where,
        words={"place": _in_place(place), "when": when(time, "host")},
        evidence=[
            number(lost, share, "share", link="timeline"),
            number("idle_share", time.share(time.idle_us), "share", link="timeline"),
            *(_launching(run, time) if part.cause == "dispatch" else ()),
            *(_cores(run, time.rank) if part.cause == _CONTENTION else ()),
        ],
        proof=gaps_as_proof(run, time.rank, lambda gap: gap.cause == "host" and _is_of(part.cause, gap.activity)),
    )


def _is_of(cause: str, activity: str) -> bool:
    """Gaps in which the host allocates prove that, and nothing else."""
    return (cause == _ALLOCATION) == (activity == _ALLOCATION)


def _in_place(place: BusyPlace | None) -> Bilingual | str:
    if place is None:
        return ""
    return Bilingual.of("finding_place.part_of_it", share=percent(place.share), place=place.in_words)


def _advice(cause: str, place: BusyPlace | None, *, has_stacks: bool) -> str:
    if place is not None and cause == "dispatch" and re.search(finding_facts().host_bound.updates, place.name):
        return "finding_advice.unfused_optimizer"
    if cause == "python" and has_stacks:
        return "finding_advice.host_python_seen" if place and place.is_code else "finding_advice.host_python_spread"
    return _ADVICE[cause]


def _cores(run: RunContext, rank: int) -> list[FindingEvidence]:
    """What the process got of the processors, and how often more threads wanted to run than there are cores."""
    machines: list[CpuRank] = run.entries("cpu", "ranks", rank)
    return [
        number(metric, value, unit, link="cpu")
        for machine in machines[:1]
        for metric, value, unit in (
            ("process_cores", machine.process_cores, "cores"),
            ("crowded_share", machine.crowded_share, "share"),
        )
        if value is not None
    ]


def _launching(run: RunContext, time: RankTime) -> list[FindingEvidence]:
    """How much is launched, and how little there is to do for each launch."""
    steps: list[Statistics] = run.entries("launches", "statistics", time.rank)
    counted = [step for step in steps if step.step in time.steps and step.launches]
    launches = sum(step.launches for step in counted)
    if not launches:
        return []
    return [
        number("launches_per_step", launches / len(counted), "launches", link="timeline"),
        number("kernel_mean", sum(step.kernel_us for step in counted) / launches, "us", link="operators"),
    ]


RULE = Rule(kinds=("host_bound",), needs=("idle_causes",), judge=judge)
