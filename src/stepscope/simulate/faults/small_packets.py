"""``small_packets``: messages are cut into packets so small that latency counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Part, Planted
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class SmallPackets(Planted):
    """``amount``: how many times 400 packets each reduction of gradients is cut into."""

    kind: ClassVar[str] = "small_packets"
    places: ClassVar[frozenset[str]] = frozenset()  # it is everywhere

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "reductions"

    def rewrite(self, instruction: Instruction, machine: Machine) -> Instruction:
        if instruction.dimension != "dp" or instruction.action != "collective":
            return instruction
        return replace(instruction, packets=instruction.packets + round(400 * self.amount))
