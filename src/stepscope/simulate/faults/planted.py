"""What every fault is: an entry of the scenario with an amount, and three ways to act on a job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepscope.simulate.instructions import Instruction
from stepscope.simulate.scenario import FaultEntry, Scenario

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


@dataclass(frozen=True)
class Planted:
    """A fault at work. ``amount`` is in units of its own; more costs more, 0 would cost nothing."""

    entry: FaultEntry
    amount: float

    def alter(self, scenario: Scenario) -> Scenario:
        """The scenario as the fault leaves it."""
        return scenario

    def apply(self, machine: Machine) -> None:
        """Change conditions and links."""

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        """Instructions at a point of a stage's program."""
        return ()
