"""``idle_gap``: the device stands still although its work was launched in time, and nothing tells why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Planted
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class IdleGap(Planted):
    """``amount``: a share of the step, in one piece behind the forward pass."""

    kind: ClassVar[str] = "idle_gap"

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where == "turn_end" and point.phase == "forward" and point.micro_batch == 0:
            yield Instruction("kernel", slice_kind="", times_ns=self.times(machine), host_ns=0.0, phase="")
