"""``memory_pressure``: a request fails because nothing is free."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import WHERE, Planted
from stepscope.simulate.memory import Failure

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class MemoryPressure(Planted):
    """It happens once, at the end of the last step."""

    kind: ClassVar[str] = "memory_pressure"
    costs: ClassVar[bool] = False
    places: ClassVar[frozenset[str]] = WHERE

    def usual_ranks(self, machine: Machine) -> list[int]:
        return [0]

    def apply(self, machine: Machine) -> None:
        last = machine.conditions.steps - 1
        machine.memory.failures += [Failure(rank, last, in_pieces=False) for rank in self.ranks(machine)]
