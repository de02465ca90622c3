"""Whether the parts of a scenario fit together, and what to say of a file that cannot be one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stepscope.errors import UnreadableInputError
from stepscope.facts.simulation import simulation_facts
from stepscope.simulate.devices import has_rates
from stepscope.simulate.scenario import FaultEntry, Scenario
from stepscope.simulate.scenario_types import expected_at, keys_at

_PLACE: Final = re.compile(r"^(?P<reason>.*?)(?: - at `\$\.?(?P<place>.*)`)?$", re.DOTALL)
_UNKNOWN: Final = re.compile(r"unknown field `(?P<name>.*)`")
_MISSING: Final = re.compile(r"missing required field `(?P<name>.*)`")
#: More are a scenario nobody has waited for, and the arrays of their times fill the memory.
_MOST_RANKS: Final = 100_000


def checked(scenario: Scenario, origin: str) -> Scenario:
    """The scenario, if its parts fit together."""
    for code, values in _misfits(scenario):
        raise UnreadableInputError(code, path=origin, **values)
    return scenario


def misfit(error: msgspec.ValidationError, origin: str) -> UnreadableInputError:
    """What to say of a file that has an unknown key, or a value that is none."""
    parts = _PLACE.match(str(error))
    assert parts is not None
    place, reason = parts["place"] or "", parts["reason"]
    missing, unknown = _MISSING.search(reason), _UNKNOWN.search(reason)
    if missing is not None:
        return UnreadableInputError("scenario_missing", path=origin, name=f"{place}.{missing['name']}".lstrip("."))
    if unknown is None:
        words = {"expected": expected_at(place, "en"), "expected_zh": expected_at(place, "zh")}
        return UnreadableInputError("scenario_value", path=origin, place=place, **words)
    known = keys_at(place)
    near = difflib.get_close_matches(unknown["name"], known, 3, 0.6)
    return UnreadableInputError(
        "scenario_key",
        path=origin,
        name=f"{place}.{unknown['name']}".lstrip("."),
        near=", ".join(near) or "–",
        known=", ".join(known),
    )


def _misfits(scenario: Scenario) -> Iterator[tuple[str, dict[str, Any]]]:
    plan, workload = scenario.plan, scenario.workload
    if plan.dp % plan.ep:
        yield "scenario_experts_and_data", {"dp": plan.dp, "ep": plan.ep}
    if plan.chunks > 1 and (plan.pp == 1 or plan.micro_batches % plan.pp or plan.schedule != "1f1b"):
        yield "scenario_chunks", {}
    if not workload.forward and workload.layers < plan.pp * plan.chunks:
        yield "scenario_layers", {"layers": workload.layers, "parts": plan.pp * plan.chunks}
    if plan.ep > 1 and (not workload.experts or workload.experts % plan.ep):
        yield "scenario_experts", {"experts": workload.experts, "ep": plan.ep}
    if workload.hidden < plan.tp:
        yield "scenario_width", {"hidden": workload.hidden, "tp": plan.tp}
    if workload.sequence < plan.cp:
        yield "scenario_sequence", {"sequence": workload.sequence, "cp": plan.cp}
    if scenario.world > _MOST_RANKS:
        yield "scenario_ranks", {"ranks": scenario.world, "most": _MOST_RANKS}
    if workload.backward and not workload.forward:
        yield "scenario_backward", {}
    if scenario.input.mode == "sink" and scenario.device.kind == "cpu":
        yield "scenario_sink", {}
    transports = {*simulation_facts().transports, *scenario.network.rates}
    for name in (scenario.network.inside, scenario.network.between):
        if name not in transports:
            yield "scenario_transport", {"name": name, "known": ", ".join(sorted(transports))}
    if not has_rates(scenario.device):
        yield "scenario_device", {"name": scenario.device.name}
    for entry in (*scenario.faults, *scenario.look_alikes):
        yield from _beyond(entry, scenario)


def _beyond(entry: FaultEntry, scenario: Scenario) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ranks, hosts, stages and steps that the job does not have."""
    ends = [rank for link in entry.links for rank in link]
    hosts = -(-scenario.world // scenario.host.ranks)
    steps = range(scenario.steps_before + scenario.steps)
    places = (
        ("scenario_no_rank", [*entry.ranks, *ends], range(scenario.world), 0),
        ("scenario_no_host", entry.hosts, range(hosts), 0),
        ("scenario_no_stage", [] if entry.stage is None else [entry.stage], range(scenario.plan.pp), 0),
        ("scenario_no_step", entry.steps, steps, scenario.steps_before),
    )
    for code, numbers, possible, first in places:
        for number in numbers:
            if number not in possible:
                yield code, {"kind": entry.kind, "number": number, "first": first, "last": possible.stop - 1}
    if entry.kind == "slow_host" and len(entry.hosts) > 1:
        yield "scenario_hosts", {}
