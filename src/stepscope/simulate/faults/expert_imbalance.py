"""``expert_imbalance``: the experts of one rank get more tokens than those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Part, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class ExpertImbalance(Planted):
    """``amount``: how many more tokens than usual."""

    kind: ClassVar[str] = "expert_imbalance"

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "experts"

    def usual_ranks(self, machine: Machine) -> list[int]:
        layout = machine.layout
        return [rank for rank in range(layout.world) if layout.coordinates(rank)["ep"] == 0]

    def apply(self, machine: Machine) -> None:
        machine.conditions.experts *= 1 + self.amount * self.where(machine)
