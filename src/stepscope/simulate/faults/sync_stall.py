"""``sync_stall``: blocking calls that return late keep the host from launching."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Culprit, Planted, layers_of_stage
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class SyncStall(Planted):
    """``amount``: a share of the step, as lateness of one blocking call per layer."""

    kind: ClassVar[str] = "sync_stall"
    causes: ClassVar[tuple[str, ...]] = ("synchronisation",)

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where == "layer_forward":
            times = self.times(machine, layers_of_stage(machine, point.stage))
            yield Instruction("sync", operator="aten::item", slice_kind="runtime", times_ns=times, phase=point.phase)

    def culprit(self, machine: Machine) -> Culprit:
        call = "AscendCL@aclrtSynchronizeStream" if machine.scenario.device.kind == "npu" else "cudaStreamSynchronize"
        return Culprit(ranks=self.ranks(machine), operator=call)
