"""``retransmission``: packets are lost on the network, and single transfers wait for them to be sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Part, Planted, slowed
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class Retransmission(Planted):
    """``amount``: how many times 200 times longer the reductions of gradients take, in every third step."""

    kind: ClassVar[str] = "retransmission"

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "reductions"

    def usual_ranks(self, machine: Machine) -> list[int]:
        return [machine.layout.world // 2]

    def steps(self, machine: Machine) -> list[int]:
        every = self.entry.every or 3
        return list(self.entry.steps) or list(range(1, machine.conditions.steps, every))

    def rewrite(self, instruction: Instruction, machine: Machine) -> Instruction:
        if instruction.dimension != "dp" or instruction.action != "collective":
            return instruction
        late = 200 * self.amount * self.where(machine)
        return slowed(instruction, 1 + late)
