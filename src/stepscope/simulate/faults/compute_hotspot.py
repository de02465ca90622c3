"""``compute_hotspot``: one slow operator takes a large part of the step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Culprit, Planted, layers_of_stage
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class ComputeHotspot(Planted):
    """``amount``: a share of the step, in one kernel per layer."""

    kind: ClassVar[str] = "compute_hotspot"
    causes: ClassVar[tuple[str, ...]] = ("",)

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where in ("layer_forward",):
            times = self.times(machine, layers_of_stage(machine, point.stage))
            yield Instruction(
                "kernel", operator="hot", times_ns=times, phase=point.phase, dtype="fp32", shapes="[[8192, 4096]]"
            )

    def culprit(self, machine: Machine) -> Culprit:
        return Culprit(ranks=self.ranks(machine), operator="aten::cumsum")
