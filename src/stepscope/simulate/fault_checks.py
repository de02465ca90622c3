"""Whether a job can have a fault where and when its entry says so."""

from __future__ import annotations

from typing import Final

from stepscope.errors import UsageError
from stepscope.simulate.faults.planted import WHEN, WHERE, Part, Planted
from stepscope.simulate.scenario import FaultEntry, Scenario

_PLACES: Final = (*sorted(WHERE), "links", *sorted(WHEN))
_LACKS: Final = {
    "ranks": "fault_needs_ranks",
    "hosts": "fault_needs_hosts",
    "stages": "fault_needs_stages",
    "reductions": "fault_needs_reductions",
    "peers": "fault_needs_peers",
    "experts": "fault_needs_experts",
    "input": "fault_needs_input",
}


def check_entry(entry: FaultEntry, kind: type[Planted], scenario: Scenario) -> None:
    """Raise an error if the job lacks what the fault needs, or the entry has words that mean nothing for it."""
    cause = entry.cause or kind.causes[0]
    need = kind.needs(cause)
    if need and not _has(scenario, need):
        raise UsageError(_LACKS[need], kind=entry.kind)
    given, heeded = [name for name in _PLACES if getattr(entry, name) not in ((), None)], kind.heeds(cause)
    for name in given:
        if name not in heeded:
            raise UsageError("fault_place", kind=entry.kind, name=name, known=", ".join(sorted(heeded)) or "–")
    for words in (WHERE, WHEN):
        both = sorted(words.intersection(given))
        if len(both) > 1:
            raise UsageError("fault_places", kind=entry.kind, names=", ".join(both))


def _has(scenario: Scenario, part: Part) -> bool:
    plan = scenario.plan
    return {
        "": True,
        "ranks": scenario.world > 1,
        "hosts": scenario.world > scenario.host.ranks,
        "stages": plan.pp > 1,
        "reductions": plan.dp * plan.cp > 1,
        "peers": plan.dp * plan.tp * plan.cp > 1,
        "experts": plan.ep > 1,
        "input": scenario.input.mode != "none" and bool(scenario.input.stages),
    }[part]
