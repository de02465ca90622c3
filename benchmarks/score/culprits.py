"""Whom a fault falls on: drawn at random, where the plan of the job allows it."""

from __future__ import annotations

import random
from typing import Any, Final, Literal

import msgspec

from stepscope.simulate.plan import Group, Layout
from stepscope.simulate.scenario import FaultEntry, Scenario

#: As the simulator takes them: a word of its own, or a share of the step.
_STRENGTHS: Final[dict[str, Literal["clear", "mild"] | float]] = {"mild": "mild", "clear": "clear", "strong": 0.35}


def planted(
    kind: str, cause: str, strength: str, scenario: Scenario, chance: random.Random, count: int, when: str
) -> tuple[FaultEntry, ...]:
    """Entries of a fault with its culprits: one entry for several ranks, one for each of several hosts."""
    entry = FaultEntry(kind=kind, cause=cause, strength=_STRENGTHS[strength], **_moments(when, scenario))
    places = _places(kind, cause, Layout(scenario.plan, scenario.host.ranks), chance, count)
    return tuple(msgspec.structs.replace(entry, **place) for place in places)


def _moments(when: str, scenario: Scenario) -> dict[str, Any]:
    """In all steps, in every second one, or from the middle of the window on."""
    if when == "sometimes":
        return {"every": 2}
    if when == "from":
        first, last = scenario.steps_before + scenario.steps // 2, scenario.steps_before + scenario.steps
        return {"steps": tuple(range(first, last))}
    return {}


def _places(kind: str, cause: str, layout: Layout, chance: random.Random, count: int) -> list[dict[str, Any]]:
    if kind in ("slow_rank", "frequency_drop"):
        # Batches come in at the first stage.
        ranks = layout.stage_ranks(0).tolist() if cause == "data" else range(layout.world)
        fewer_than_half = max((len(ranks) - 1) // 2, 1)
        return [{"ranks": tuple(sorted(chance.sample(ranks, min(count, fewer_than_half))))}]
    if kind == "slow_host":
        count = min(count, max((layout.hosts - 1) // 2, 1))
        return [{"hosts": (host,)} for host in sorted(chance.sample(range(layout.hosts), count))]
    if kind == "clock_skew":
        return [{"hosts": (chance.randrange(1, layout.hosts),)}]
    if kind == "slow_link":
        links = _links(layout)
        if cause == "card":
            return [{"ranks": (chance.choice(chance.choice(links)),)}]
        return [{"links": (link,)} for link in chance.sample(links, count)]
    if kind == "stage_imbalance" and cause == "layers":
        return [{"stage": chance.randrange(layout.plan.pp)}]
    if kind == "expert_imbalance":
        hot = chance.randrange(layout.plan.ep)
        return [{"ranks": tuple(r for r in range(layout.world) if layout.coordinates(r)["ep"] == hot)}]
    return [{}]


def _links(layout: Layout) -> list[tuple[int, int]]:
    """Links that gradients go over, and activations; between hosts where there are several."""
    rings = [edge for group in layout.groups["dp"] for edge in _ring(group)]
    pairs = [edge for group in layout.groups["pp"] for edge in zip(group.ranks, group.ranks[1:], strict=False)]
    links = rings or pairs
    across = [(a, b) for a, b in links if layout.host_of(a) != layout.host_of(b)]
    return sorted(set(across or links))


def _ring(group: Group) -> list[tuple[int, int]]:
    ranks = group.ranks
    around = zip(ranks, [*ranks[1:], ranks[0]], strict=True)
    return [(min(edge), max(edge)) for edge in around]
