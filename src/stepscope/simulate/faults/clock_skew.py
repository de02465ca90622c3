"""``clock_skew``: the clock of one host is far off."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import WHERE, Culprit, Part, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class ClockSkew(Planted):
    """``amount``: milliseconds."""

    kind: ClassVar[str] = "clock_skew"
    costs: ClassVar[bool] = False
    usual_amount: ClassVar[float] = 250.0
    places: ClassVar[frozenset[str]] = WHERE

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "hosts"

    def usual_ranks(self, machine: Machine) -> list[int]:
        layout = machine.layout
        return [rank for rank in range(layout.world) if layout.host_of(rank) == layout.hosts - 1]

    def apply(self, machine: Machine) -> None:
        for host in {machine.layout.host_of(rank) for rank in self.ranks(machine)}:
            machine.clocks.added_ns[host] = machine.clocks.added_ns.get(host, 0) + int(self.amount * 1e6)

    def culprit(self, machine: Machine) -> Culprit:
        ranks = self.ranks(machine)
        return Culprit(ranks=ranks, host=f"host{machine.layout.host_of(ranks[0]):03d}")
