"""``host_bound``: the device waits because the host launches its work too late."""

from __future__ import annotations

from typing import Final

from stepscope.analysis.cpu import CpuRank
from stepscope.analysis.launches.types import Activity
from stepscope.diagnosis.compiling import compiling_us
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence import gaps_as_proof, number
from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.losses import IDLE_REMOVED, Loss, Next, findings_of, worth_telling
from stepscope.diagnosis.rule import Rule

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
    "cpu_contention": "finding_title.host_cpu_contention",
}
_ADVICE: Final = {
    "dispatch": "finding_advice.host_dispatch",
    "allocation": "finding_advice.host_allocation",
    "python": "finding_advice.host_python",
    "cpu_contention": "finding_advice.host_cpu_contention",
}


def judge(run: RunContext) -> list[Finding]:
    """Ranks whose device waits for the host, by what the host did meanwhile."""
    losses = []
    for rank, time in run.times.items():
        # Compiling is a kind of its own.
        idle = time.idle_by_cause.get("host", 0.0) - compiling_us(run, time)
        share = time.share(idle)
        if not worth_telling(share):
            continue
        cause = "cpu_contention" if _contended(run, rank) else _main_activity(run, rank)
        evidence = [
            number("idle_for_host_share", share, "share", link="timeline"),
            number("idle_share", time.share(time.idle_us), "share", link="timeline"),
        ]
        losses.append(
            Loss(
                rank=rank,
                cause=cause,
                title=_TITLES[cause],
                advice=_ADVICE[cause],
                gain_us=idle,
                gain_share=share,
                gain_method=IDLE_REMOVED,
                evidence=evidence,
                proof=gaps_as_proof(run, rank, lambda gap: gap.cause == "host"),
            )
        )
    return findings_of(run, "host_bound", losses, Next(("launches", "critical-path"), "launches"))


def _main_activity(run: RunContext, rank: int) -> str:
    spent: dict[str, float] = {}
    activities: list[Activity] = run.entries("launches", "activities", rank)
    for entry in activities:
        if entry.activity in _CAUSES:
            cause = _CAUSES[entry.activity]
            spent[cause] = spent.get(cause, 0.0) + entry.idle_us
    return max(spent, key=lambda cause: spent[cause]) if spent else "dispatch"


def _contended(run: RunContext, rank: int) -> bool:
    """Whether other processes take the processors that the host would need."""
    machines: list[CpuRank] = run.entries("cpu", "ranks", rank)
    return any(machine.contended for machine in machines)


RULE = Rule(kinds=("host_bound",), needs=("idle_causes",), judge=judge)
