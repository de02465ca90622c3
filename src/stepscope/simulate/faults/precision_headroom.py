"""``precision_headroom``: matrix products run in single precision although half would do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Culprit, Planted, slowed
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class PrecisionHeadroom(Planted):
    """``amount``: how much longer each matrix product takes."""

    kind: ClassVar[str] = "precision_headroom"
    places: ClassVar[frozenset[str]] = frozenset()  # it is everywhere

    def rewrite(self, instruction: Instruction, machine: Machine) -> Instruction:
        if instruction.operator != "matmul":
            return instruction
        return slowed(replace(instruction, dtype="fp32"), 1 + self.amount * self.where(machine))

    def culprit(self, machine: Machine) -> Culprit:
        return Culprit(ranks=self.ranks(machine), operator="aten::mm")
