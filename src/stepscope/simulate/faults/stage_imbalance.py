"""``stage_imbalance``: one pipeline stage has more to do than the others: its layers, or the loss head of the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import WHEN, Culprit, Part, Planted, slowed
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class StageImbalance(Planted):
    """``amount``: how much longer its kernels take; of the loss head, how many times its usual length comes on top."""

    kind: ClassVar[str] = "stage_imbalance"
    causes: ClassVar[tuple[str, ...]] = ("layers", "last_stage")

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "stages"

    @classmethod
    def heeds(cls, cause: str) -> frozenset[str]:
        return WHEN if cause == "last_stage" else WHEN | {"stage"}

    def stage(self, machine: Machine) -> int:
        stages = machine.scenario.plan.pp
        if self.cause == "last_stage":
            return stages - 1
        return stages // 2 if self.entry.stage is None else self.entry.stage

    def ranks(self, machine: Machine) -> list[int]:
        return [int(rank) for rank in machine.layout.stage_ranks(self.stage(machine))]

    def apply(self, machine: Machine) -> None:
        if self.cause == "layers":
            machine.conditions.compute *= 1 + self.amount * self.where(machine)

    def rewrite(self, instruction: Instruction, machine: Machine) -> Instruction:
        if self.cause == "layers" or instruction.module not in ("head", "loss"):
            return instruction
        return slowed(instruction, 1 + self.amount * self.where(machine))

    def culprit(self, machine: Machine) -> Culprit:
        return Culprit(ranks=self.ranks(machine), stage=self.stage(machine))
