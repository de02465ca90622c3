"""``memory_leak``: a place in the program keeps memory from step to step."""

from __future__ import annotations

from typing import Final

from stepscope.analysis.leaks.places import LeakingPlace, leaking_places
from stepscope.analysis.leaks.structures import Leaks
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

#: Title and advice of what a single place keeps, and of a result that is kept with its autograd graph.
_OF_SITE: Final = ("finding_title.memory_leak", "finding_advice.memory_leak")
_OF_GRAPH: Final = ("finding_title.memory_leak_of_graph", "finding_advice.memory_leak_of_graph")


def judge(run: RunContext) -> list[Finding]:
    """One finding per leaking place, the ranks that share it together."""
    leaks: Leaks | None = run.answer("leaks")
    losses = map(_loss, leaking_places(leaks) if leaks is not None else [])
    return findings_of(run, "memory_leak", losses, Next(("leaks", "memory"), "leaks"))


def _loss(place: LeakingPlace) -> Loss:
    site, rate = place.largest, place.bytes_per_step
    evidence = [
        number("leak_bytes_per_step", rate, "bytes", link="memory"),
        number("leak_blocks", sum(each.blocks for each in place.sites), "blocks", link="memory"),
        number("leak_intervals", site.intervals, "steps", link="memory"),
    ]
    if place.steps_to_oom is not None:
        evidence.append(number("leak_steps_to_oom", place.steps_to_oom, "steps", link="memory"))
    title, advice = _OF_SITE if place.graph_of is None else _OF_GRAPH
    return Loss(
        rank=site.rank,
        cause=site.reason,
        title=title,
        advice=advice,
        gain_us=None,
        gain_share=None,
        gain_method=None,
        where=Where(site=place.site, device=site.device, operator=place.operator),
        words={"site": place.site, "rate": byte_size(rate)},
        confidence=_CONFIDENCE[site.confidence],
        severity=_SEVERITY[site.confidence] if _matters(rate) else "info",
        evidence=evidence,
        steps=list(place.births()),
        proof=[Proof(rank=site.rank, page="memory")],
    )


def _matters(bytes_per_step: float) -> bool:
    """A list of losses, one number a step, grows, too, and no training ends for it."""
    return bytes_per_step >= finding_facts().memory_leak.least_bytes_per_step


RULE = Rule(kinds=("memory_leak",), needs=("allocations",), judge=judge)
