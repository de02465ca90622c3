"""How much of a fault costs what its strength says: found by running the model, because faults act through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from stepscope.errors import UsageError
from stepscope.facts.simulation import simulation_facts
from stepscope.simulate.fault_checks import check_entry
from stepscope.simulate.faults.planted import Planted
from stepscope.simulate.faults.registry import fault_of, look_alike_of
from stepscope.simulate.model import Result, build
from stepscope.simulate.scenario import FaultEntry, Scenario

#: What costs less than this share of its aim, however much of it is planted, does not fit the job.
_LEAST_SHARE_OF_AIM: Final = 0.25


def planted_faults(scenario: Scenario) -> tuple[list[Planted], list[Planted]]:
    """The faults of a scenario with their amounts, each calibrated by itself, and its look-alikes."""
    if not scenario.faults and not scenario.look_alikes:
        return [], []
    bare = msgspec.structs.replace(scenario, faults=(), look_alikes=())
    kinds, look_alike_kinds = (
        [fault_of(entry) for entry in scenario.faults],
        [look_alike_of(entry) for entry in scenario.look_alikes],
    )
    for entry, kind in zip((*scenario.faults, *scenario.look_alikes), (*kinds, *look_alike_kinds), strict=True):
        check_entry(entry, kind, bare)
    healthy = build(bare).run()
    look_alikes = [
        kind(entry, entry.amount or kind.usual_amount, healthy.step_ns)
        for entry, kind in zip(scenario.look_alikes, look_alike_kinds, strict=True)
    ]
    faults = [_calibrated(bare, entry, kind, healthy) for entry, kind in zip(scenario.faults, kinds, strict=True)]
    return faults, look_alikes


def _calibrated(bare: Scenario, entry: FaultEntry, kind: type[Planted], healthy: Result) -> Planted:
    healthy_ns = healthy.step_ns
    if entry.amount is not None or not kind.costs:
        fault = kind(entry, entry.amount or kind.usual_amount, healthy_ns)
        if kind.costs and build(bare, [fault]).run().periods.same_as(healthy.periods):
            raise UsageError("fault_without_effect", kind=entry.kind, cause=entry.cause or kind.causes[0] or "–")
        return fault
    levels = simulation_facts().calibration
    strength = entry.strength
    aim = {"clear": levels.clear, "mild": levels.mild}[strength] if isinstance(strength, str) else strength

    known: dict[float, float] = {}

    def cost(amount: float) -> float:
        known[amount] = 1 - healthy_ns / build(bare, [kind(entry, amount, healthy_ns)]).run().step_ns
        return known[amount]

    amount = amount_for(cost, aim)
    if known[amount] < aim * _LEAST_SHARE_OF_AIM:
        raise UsageError("fault_without_effect", kind=entry.kind, cause=entry.cause or kind.causes[0] or "–")
    return kind(entry, amount, healthy_ns)


def amount_for(cost: Callable[[float], float], aim: float) -> float:
    """The amount that costs what is aimed at; the nearest that was tried where no amount does.

    Costs grow with the amount, some only beyond a threshold: first an amount that costs enough, then between.

    >>> round(amount_for(lambda amount: max(amount - 0.5, 0.0), 0.2), 2)
    0.7
    """
    levels = simulation_facts().calibration
    tried: dict[float, float] = {0.0: 0.0}
    amount = aim
    for _ in range(levels.most_runs):
        tried[amount] = cost(amount)
        if abs(tried[amount] - aim) <= levels.tolerance * aim:
            return amount
        below = max(each for each in tried if tried[each] < aim)
        above = [each for each in tried if tried[each] >= aim]
        if not above:
            amount *= 2 if tried[amount] > aim / 4 else 4
            continue
        high = min(above)
        share = (aim - tried[below]) / (tried[high] - tried[below])
        # Straight between the two, but never so near to one of them that the other stays far.
        amount = below + (high - below) * min(max(share, 0.1), 0.9)
    return min((each for each in tried if each > 0), key=lambda each: abs(tried[each] - aim))
