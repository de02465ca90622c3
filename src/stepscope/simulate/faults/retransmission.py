"""``retransmission``: packets are lost on the network, and single transfers wait for them to be sent again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stepscope.simulate.faults.planted import Planted
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class Retransmission(Planted):
    """``amount``: a share of the step, on average; it falls on one reduction of gradients every third step."""

    kind: ClassVar[str] = "retransmission"

    def usual_ranks(self, machine: Machine) -> list[int]:
        return [machine.layout.world // 2]

    def steps(self, machine: Machine) -> list[int]:
        every = self.entry.every or 3
        return list(self.entry.steps) or list(range(1, machine.conditions.steps, every))

    def rewrite(self, instruction: Instruction, machine: Machine) -> Instruction:
        if instruction.dimension != "dp" or instruction.action != "collective":
            return instruction
        late = 200 * self.amount * self.where(machine)
        return replace(instruction, factor=np.asarray(1 + late))
