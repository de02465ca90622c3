"""``slow_rank``: one rank is slower than its peers: by its device, its data, or its host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.data_starved import slow_stage
from stepscope.simulate.faults.planted import Part, Planted, layers_of_stage
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class SlowRank(Planted):
    """``amount``: how much longer its kernels take; of data and host, a share of the step."""

    kind: ClassVar[str] = "slow_rank"
    causes: ClassVar[tuple[str, ...]] = ("compute", "data", "host")

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "input" if cause == "data" else "ranks"

    def usual_ranks(self, machine: Machine) -> list[int]:
        return [machine.layout.per_stage // 2]

    def apply(self, machine: Machine) -> None:
        if self.cause == "compute":
            machine.conditions.compute *= 1 + self.amount * self.where(machine)
        elif self.cause == "data":
            slow_stage(machine, self.ranks(machine), self.steps(machine), self.amount, self.step_ns)

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if self.cause == "host" and point.where in ("layer_forward", "layer_backward"):
            times = self.times(machine, 2 * layers_of_stage(machine, point.stage))
            yield Instruction("host", slice_kind="", times_ns=times, phase="")
