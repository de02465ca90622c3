"""``host_bound``: the host launches too slowly: dispatch, Python between operators, or allocations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Planted, layers_of_stage
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class HostBound(Planted):
    """``amount``: of dispatch, how much longer each operator takes; else a share of the step."""

    kind: ClassVar[str] = "host_bound"
    causes: ClassVar[tuple[str, ...]] = ("dispatch", "python", "allocation")

    def apply(self, machine: Machine) -> None:
        if self.cause == "dispatch":
            machine.conditions.host *= 1 + self.amount * self.where(machine)

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where not in ("layer_forward", "layer_backward") or self.cause == "dispatch":
            return
        times = self.times(machine, 2 * layers_of_stage(machine, point.stage))
        if self.cause == "python":
            yield Instruction("host", slice_kind="", times_ns=times, phase="")
        else:
            name = "AscendCL@aclrtMalloc" if machine.scenario.device.kind == "npu" else "cudaMalloc"
            yield Instruction("host", name=name, slice_kind="runtime", times_ns=times, phase=point.phase)
