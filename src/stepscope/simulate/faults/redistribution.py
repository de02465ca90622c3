"""``redistribution``: tensors are split another way between operators and must be gathered each time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Culprit, Part, Planted, layers_of_stage
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class Redistribution(Planted):
    """``amount``: a share of the step, in one gathering per layer and direction."""

    kind: ClassVar[str] = "redistribution"
    places: ClassVar[frozenset[str]] = frozenset()  # it is everywhere

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "peers"

    def dimension(self, machine: Machine) -> str:
        return next((name for name in ("tp", "cp", "dp") if machine.layout.groups[name]), "dp")

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where not in ("layer_forward", "layer_backward"):
            return
        dimension = self.dimension(machine)
        group = machine.layout.groups[dimension][0].ranks
        rate = min(link.bytes_per_ns for link in machine.links.ring(group))
        parts = 2 * layers_of_stage(machine, point.stage)
        share = (len(group) - 1) / len(group)
        size = int(self.amount * self.step_ns / parts * rate / share)
        yield Instruction(
            "collective",
            slice_kind="collective",
            kind="all_gather",
            dimension=dimension,
            size=size // 4 * 4,
            module="redistribution",
            phase=point.phase,
            stream=dimension,
            after=("compute",),
            dtype="bf16",
            holds_up=True,
        )

    def culprit(self, machine: Machine) -> Culprit:
        return Culprit(ranks=self.ranks(machine), group=self.dimension(machine))
