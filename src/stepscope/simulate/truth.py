"""The ground truth of a simulated run: which faults were planted, whom to name, and what each costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from stepscope.simulate.faults.planted import Planted
from stepscope.simulate.model import Model, Result, build
from stepscope.simulate.scenario import Scenario

SCHEMA: Final = "stepscope.truth/1"
FILE: Final = "truth.json"


def truth(
    scenario: Scenario, faults: Sequence[Planted], look_alikes: Sequence[Planted], result: Result
) -> dict[str, Any]:
    """What ``truth.json`` says. The step without a fault is that of the same job run again without it."""
    model = result.model
    step_us = result.step_ns / 1000
    bare_us = _step_us(scenario, look_alikes) if faults else step_us
    return {
        "schema": SCHEMA,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "world_size": model.layout.world,
        "plan": {
            name: getattr(model.scenario.plan, name)
            for name in ("dp", "tp", "pp", "ep", "cp", "chunks", "micro_batches")
        },
        "noise": scenario.noise,
        "step_us": step_us,
        "step_without_faults_us": bare_us,
        "faults": [
            _fault(fault, model, step_us, _without_us(scenario, fault, faults, look_alikes, (step_us, bare_us)))
            for fault in faults
        ],
        "look_alikes": [
            {"kind": each.kind, "amount": each.amount, "ranks": each.ranks(model.machine)} for each in look_alikes
        ],
        "clocks": [
            {
                "host": f"host{host:03d}",
                "offset_ns": model.machine.clocks.offset_of(host * model.layout.ranks_per_host),
                "drift_ppb": int(model.machine.clocks.drift_ppb[host]),
            }
            for host in range(model.layout.hosts)
        ],
    }


def _without_us(
    scenario: Scenario,
    fault: Planted,
    faults: Sequence[Planted],
    look_alikes: Sequence[Planted],
    known: tuple[float, float],
) -> float:
    """The step without one fault; ``known`` are the steps with all faults and with none, which are not run again."""
    with_all_us, with_none_us = known
    if not fault.costs:
        return with_all_us
    others = [each for each in faults if each is not fault]
    return _step_us(scenario, [*others, *look_alikes]) if others else with_none_us


def _fault(fault: Planted, model: Model, step_us: float, without_us: float) -> dict[str, Any]:
    culprit = asdict(fault.culprit(model.machine))
    before = model.scenario.steps_before
    return {
        "kind": fault.kind,
        "cause": fault.cause or None,
        "ranks": culprit.pop("ranks"),
        "links": culprit.pop("links"),
        "where": {key: value for key, value in culprit.items() if value is not None},
        "steps": [step for step in fault.steps(model.machine) if step >= before],
        "strength": fault.entry.strength if fault.costs else None,
        "amount": fault.amount,
        "step_without_us": without_us,
        "gain_us": step_us - without_us,
        "gain_share": 1 - without_us / step_us,
    }


def _step_us(scenario: Scenario, planted: Sequence[Planted]) -> float:
    return build(scenario, planted).run().step_ns / 1000
