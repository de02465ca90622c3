"""``slow_host``: all ranks of one host are slower than those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import WHEN, Culprit, Part, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class SlowHost(Planted):
    """``amount``: how much longer their kernels take."""

    kind: ClassVar[str] = "slow_host"
    causes: ClassVar[tuple[str, ...]] = ("compute",)
    places: ClassVar[frozenset[str]] = WHEN | {"hosts"}

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "hosts"

    def usual_ranks(self, machine: Machine) -> list[int]:
        layout = machine.layout
        return [rank for rank in range(layout.world) if layout.host_of(rank) == layout.hosts // 2]

    def apply(self, machine: Machine) -> None:
        machine.conditions.compute *= 1 + self.amount * self.where(machine)

    def culprit(self, machine: Machine) -> Culprit:
        ranks = self.ranks(machine)
        return Culprit(ranks=ranks, host=f"host{machine.layout.host_of(ranks[0]):03d}")
