"""What every fault is: an entry of the scenario with an amount, and four ways to act on a job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np

from stepscope.arrays import Float64s
from stepscope.simulate.instructions import Instruction
from stepscope.simulate.scenario import FaultEntry, Scenario

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point

#: What of a job a fault may need.
Part = Literal["", "ranks", "hosts", "stages", "reductions", "peers", "experts", "input"]
#: Words of an entry that say where a fault is, and those that say when it acts.
WHERE: Final = frozenset({"ranks", "hosts", "stage"})
WHEN: Final = frozenset({"steps", "every"})


@dataclass(frozen=True)
class Culprit:
    """Who and where it is, in the words of findings."""

    ranks: list[int] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)
    host: str | None = None
    stage: int | None = None
    operator: str | None = None
    pipeline_op: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class Planted:
    """A fault at work. ``amount`` is in units of its own; more costs more, 0 would cost nothing.

    ``step_ns`` is how long a step takes without any fault; most amounts are shares of it.
    """

    entry: FaultEntry
    amount: float
    step_ns: float

    kind: ClassVar[str]
    causes: ClassVar[tuple[str, ...]] = ("",)
    costs: ClassVar[bool] = True  # false where it costs no time, so that nothing is calibrated
    usual_amount: ClassVar[float] = 1.0  # where nothing is calibrated
    places: ClassVar[frozenset[str]] = WHERE | WHEN  # words of an entry that it heeds; the others are an error

    @classmethod
    def needs(cls, cause: str) -> Part:
        """What a job must have for this fault to be one: several hosts, pipeline stages, an input pipeline, …"""
        return ""

    @classmethod
    def heeds(cls, cause: str) -> frozenset[str]:
        """Words of an entry that mean something for a cause."""
        return cls.places

    def alter(self, scenario: Scenario) -> Scenario:
        """The scenario as the fault leaves it."""
        return scenario

    def apply(self, machine: Machine) -> None:
        """Change conditions, links, clocks, memory."""

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        """Instructions at a point of a stage's program."""
        return ()

    def rewrite(self, instruction: Instruction, machine: Machine) -> Instruction:
        """An instruction of the job as the fault leaves it."""
        return instruction

    def culprit(self, machine: Machine) -> Culprit:
        """Whom a finding should name."""
        return Culprit(ranks=self.ranks(machine))

    @property
    def cause(self) -> str:
        return self.entry.cause or self.causes[0]

    def ranks(self, machine: Machine) -> list[int]:
        """The ranks that have it: those given, those of the given hosts and stage, else the usual ones."""
        layout, entry = machine.layout, self.entry
        if entry.ranks:
            return sorted(entry.ranks)
        if entry.hosts:
            return [rank for rank in range(layout.world) if layout.host_of(rank) in entry.hosts]
        if entry.stage is not None:
            return [int(rank) for rank in layout.stage_ranks(entry.stage)]
        return self.usual_ranks(machine)

    def usual_ranks(self, machine: Machine) -> list[int]:
        """Where the scenario names none: all."""
        return list(range(machine.layout.world))

    def steps(self, machine: Machine) -> list[int]:
        """The steps in which it acts: those given, every so many, else all."""
        count = machine.conditions.steps
        if self.entry.steps:
            return [step for step in self.entry.steps if step < count]
        return list(range(0, count, self.entry.every or 1))

    def where(self, machine: Machine, ranks: Sequence[int] | None = None) -> Float64s:
        """1 for the ranks and steps that have it, else 0."""
        active = np.zeros((machine.layout.world, machine.conditions.steps))
        active[np.ix_(ranks if ranks is not None else self.ranks(machine), self.steps(machine))] = 1.0
        return active

    def times(self, machine: Machine, parts: int = 1) -> Float64s:
        """The amount as nanoseconds of a step, divided over so many instructions."""
        return self.where(machine) * (self.amount * self.step_ns / max(parts, 1))


def layers_of_stage(machine: Machine, stage: int) -> int:
    """How often a stage passes a layer in one direction in a step."""
    from stepscope.simulate.plan import layers_of_chunks

    scenario = machine.scenario
    plan = scenario.plan
    chunks = layers_of_chunks(scenario.workload.layers, plan)
    return plan.micro_batches * sum(len(chunks[chunk * plan.pp + stage]) for chunk in range(plan.chunks))


def slowed(instruction: Instruction, factor: Float64s) -> Instruction:
    """The instruction by so much longer on each rank and in each step, beside what other faults do to it."""
    known = instruction.factor
    return replace(instruction, factor=factor if known is None else known * factor)
