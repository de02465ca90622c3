"""``kernel_fusion``: many small operators where one fused would do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Culprit, Planted, layers_of_stage
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class KernelFusion(Planted):
    """``amount``: a share of the step, in twelve small kernels per layer."""

    kind: ClassVar[str] = "kernel_fusion"
    causes: ClassVar[tuple[str, ...]] = ("",)

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where in ("layer_forward",):
            times = self.times(machine, 12 * layers_of_stage(machine, point.stage))
            for _ in range(12):
                yield Instruction(
                    "kernel", operator="small", times_ns=times, phase=point.phase, dtype="fp32", shapes="[[4096]]"
                )

    def culprit(self, machine: Machine) -> Culprit:
        return Culprit(ranks=self.ranks(machine), operator="aten::mul")
