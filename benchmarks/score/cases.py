"""Cases of a score: what its file describes in a few lines, drawn out into scenarios."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from score.culprits import planted
from stepscope.simulate.scenario import FaultEntry, Scenario
from stepscope.simulate.scenario_files import of_table

HEALTHY: Final = "healthy"
MIXED: Final = "mixed"
#: What a look-alike needs to be possible.
_NEEDS: Final[dict[str, Callable[[Scenario], bool]]] = {
    "rotating_hot_expert": lambda scenario: scenario.plan.ep > 1,
    "small_stage_difference": lambda scenario: scenario.plan.pp > 1,
    "hidden_collective": lambda scenario: scenario.plan.dp > 1,
}


class Drawn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``runs`` of each cause, by strength; everything else that has several choices is drawn."""

    kind: str
    causes: tuple[str, ...] = ("",)
    topologies: tuple[str, ...]
    runs: dict[str, int]
    noises: tuple[Literal["quiet", "wide"], ...] = ("quiet",)
    culprits: tuple[int, ...] = (1,)
    when: tuple[Literal["always", "sometimes", "from"], ...] = ("always",)
    steps: int = 6


class Healthy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs without a fault; none, one or two look-alikes are drawn for each."""

    topologies: tuple[str, ...]
    count: int
    noises: tuple[Literal["quiet", "wide"], ...] = ("quiet", "wide")
    look_alikes: tuple[str, ...] = ()
    steps: int = 6


class Mixed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Several faults at once, each as kind and cause."""

    faults: tuple[tuple[str, str], ...]
    topologies: tuple[str, ...]
    count: int
    noises: tuple[Literal["quiet", "wide"], ...] = ("quiet",)
    steps: int = 6


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One simulated run. ``group`` is the kind of its fault, or that it has several or none."""

    name: str
    group: str
    cause: str
    strength: str
    topology: str
    when: str
    detail: str
    scenario: Scenario


class ScoreFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of a score. ``seed`` sets it apart from others with the same topologies."""

    seed: int
    topologies: dict[str, dict[str, Any]]
    healthy: tuple[Healthy, ...] = ()
    faults: tuple[Drawn, ...] = ()
    mixed: tuple[Mixed, ...] = ()


def read_cases(file: Path) -> list[Case]:
    """All cases of a file, in its order. The same file gives the same cases."""
    content = msgspec.convert(tomllib.loads(file.read_text("utf-8")), ScoreFile)
    drawn: list[Case] = []
    for entry in content.faults:
        for cause in entry.causes:
            for strength, runs in entry.runs.items():
                drawn += _faulty(content, entry, cause, strength, runs)
    for both in content.mixed:
        drawn += _mixed(content, both)
    for sound in content.healthy:
        drawn += _healthy(content, sound)
    return _named_apart(drawn)


def _named_apart(cases: list[Case]) -> list[Case]:
    """A kind that the file has several times, on other topologies, gets their names."""
    names: set[str] = set()
    apart = []
    for case in cases:
        name = case.name if case.name not in names else f"{case.name}-{case.topology}"
        names.add(name)
        apart.append(msgspec.structs.replace(case, name=name))
    return apart


def _faulty(content: ScoreFile, entry: Drawn, cause: str, strength: str, runs: int) -> Iterator[Case]:
    for number in range(runs):
        label = "-".join(part for part in (entry.kind, cause, strength, str(number)) if part)
        chance = random.Random(f"{content.seed} {label}")
        topology = entry.topologies[number % len(entry.topologies)]
        when, culprits = chance.choice(entry.when), chance.choice(entry.culprits)
        base = _base(content, topology, label, chance.choice(entry.noises), entry.steps)
        faults = planted(entry.kind, cause, strength, base, chance, culprits, when)
        yield _case(content, label, (entry.kind, cause, strength), topology, when, base, faults=faults)


def _mixed(content: ScoreFile, entry: Mixed) -> Iterator[Case]:
    for number in range(entry.count):
        label = "-".join([*(kind for kind, _ in entry.faults), str(number)])
        chance = random.Random(f"{content.seed} {label}")
        topology = entry.topologies[number % len(entry.topologies)]
        base = _base(content, topology, label, chance.choice(entry.noises), entry.steps)
        faults = [planted(kind, cause, "clear", base, chance, 1, "always") for kind, cause in entry.faults]
        every = tuple(fault for each in faults for fault in each)
        yield _case(content, label, (MIXED, "", "clear"), topology, "always", base, faults=every)


def _healthy(content: ScoreFile, entry: Healthy) -> Iterator[Case]:
    for number in range(entry.count):
        topology = entry.topologies[number % len(entry.topologies)]
        noise = entry.noises[number // len(entry.topologies) % len(entry.noises)]
        label = f"healthy-{topology}-{noise}-{number}"
        chance = random.Random(f"{content.seed} {label}")
        base = _base(content, topology, label, noise, entry.steps)
        possible = [each for each in entry.look_alikes if each not in _NEEDS or _NEEDS[each](base)]
        chosen = chance.sample(possible, min(chance.choice((0, 1, 2)), len(possible)))
        alike = tuple(FaultEntry(kind=kind) for kind in sorted(chosen))
        yield _case(content, label, (HEALTHY, noise, ""), topology, "", base, look_alikes=alike)


def _base(content: ScoreFile, topology: str, label: str, noise: str, steps: int) -> Scenario:
    table = {name: value for name, value in content.topologies[topology].items() if name != "detail"}
    seed = random.Random(f"{content.seed} {label} noise").randrange(2**31)
    return of_table(table | {"name": label, "seed": seed, "noise": noise, "steps": steps, "faults": []}, topology)


def _case(
    content: ScoreFile,
    label: str,
    what: tuple[str, str, str],
    topology: str,
    when: str,
    base: Scenario,
    **planted_here: tuple[FaultEntry, ...],
) -> Case:
    group, cause, strength = what
    return Case(
        name=label,
        group=group,
        cause=cause,
        strength=strength,
        topology=topology,
        when=when,
        detail=content.topologies[topology].get("detail", "full"),
        scenario=msgspec.structs.replace(base, **planted_here),
    )
