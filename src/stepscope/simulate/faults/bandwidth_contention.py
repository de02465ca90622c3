"""``bandwidth_contention``: communication and computing take the memory's bandwidth from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Part, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class BandwidthContention(Planted):
    """``amount``: how much longer reductions of gradients take that run beside backward."""

    kind: ClassVar[str] = "bandwidth_contention"
    causes: ClassVar[tuple[str, ...]] = ("",)

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "reductions"

    def apply(self, machine: Machine) -> None:
        active = self.where(machine)
        reductions, products = machine.conditions.beside_compute, machine.conditions.of_operator("matmul")
        reductions *= 1 + self.amount * active
        products *= 1 + 0.02 * min(self.amount, 1.0) * active
