"""``operator_compile``: the host compiles operators or graphs in the middle of training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Planted
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class OperatorCompile(Planted):
    """``amount``: a share of the step."""

    kind: ClassVar[str] = "operator_compile"
    causes: ClassVar[tuple[str, ...]] = ("compile",)

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where != "turn_end" or point.phase != "forward" or point.micro_batch:
            return
        npu = machine.scenario.device.kind == "npu"
        name = "AscendCL@aclopCompileAndExecute" if npu else "torch/_inductor/compile_fx.py(1552): compile_fx"
        yield Instruction(
            "host", name=name, slice_kind="runtime" if npu else "python", times_ns=self.times(machine), phase=""
        )
