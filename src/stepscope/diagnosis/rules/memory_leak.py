"""``memory_leak``: a place in the program keeps memory from step to step."""

from __future__ import annotations

from typing import Final

from stepscope.analysis.leaks.structures import Leaks, Site
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Confidence, Finding, Proof, Severity, Where
from stepscope.diagnosis.losses import Loss, Next, findings_of
from stepscope.diagnosis.rule import Rule
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import byte_size

_CONFIDENCE: Final[dict[str, Confidence]] = {"confirmed": "confirmed", "likely": "likely", "suspect": "suspect"}
#: How a leak is told by how sure the number of steps allows to be.
_SEVERITY: Final[dict[str, Severity]] = {"confirmed": "critical", "likely": "warning", "suspect": "info"}


def judge(run: RunContext) -> list[Finding]:
    """One finding per leaking site, the ranks that share it together."""
    leaks: Leaks | None = run.answer("leaks")
    sites = [site for site in leaks.sites if site.verdict == "leak"] if leaks is not None else []
    return findings_of(run, "memory_leak", map(_loss, sites), Next(("leaks", "memory"), "leaks"))


def _loss(site: Site) -> Loss:
    evidence = [
        number("leak_bytes_per_step", site.bytes_per_step, "bytes", link="memory"),
        number("leak_blocks", site.blocks, "blocks", link="memory"),
        number("leak_intervals", site.intervals, "steps", link="memory"),
    ]
    if site.steps_to_oom is not None:
        evidence.append(number("leak_steps_to_oom", site.steps_to_oom, "steps", link="memory"))
    return Loss(
        rank=site.rank,
        cause=site.reason,
        title="finding_title.memory_leak",
        advice="finding_advice.memory_leak",
        gain_us=None,
        gain_share=None,
        gain_method=None,
        where=Where(site=site.site, device=site.device, operator=site.operator),
        words={"site": site.site, "rate": byte_size(site.bytes_per_step)},
        confidence=_CONFIDENCE[site.confidence],
        severity=_SEVERITY[site.confidence] if _matters(site) else "info",
        evidence=evidence,
        steps=[birth.step for birth in site.births],
        proof=[Proof(rank=site.rank, page="memory")],
    )


def _matters(site: Site) -> bool:
    """A list of losses, one number a step, grows, too, and no training ends for it."""
    return site.bytes_per_step >= finding_facts().memory_leak.least_bytes_per_step


RULE = Rule(kinds=("memory_leak",), needs=("allocations",), judge=judge)
