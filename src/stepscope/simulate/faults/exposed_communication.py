"""``exposed_communication``: gradients are reduced too slowly to hide behind backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Part, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class ExposedCommunication(Planted):
    """``amount``: how much longer each reduction of gradients takes."""

    kind: ClassVar[str] = "exposed_communication"
    causes: ClassVar[tuple[str, ...]] = ("transfer",)

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "reductions"

    def apply(self, machine: Machine) -> None:
        factor = machine.conditions.of_communication("dp")
        factor *= 1 + self.amount * self.where(machine)
