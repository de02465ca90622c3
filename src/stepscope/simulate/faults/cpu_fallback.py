"""``cpu_fallback``: an operator that the device does not know runs on its slow processor, or on the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stepscope.simulate.faults.planted import Culprit, Planted
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class CpuFallback(Planted):
    """``amount``: a share of the step, once per forward pass."""

    kind: ClassVar[str] = "cpu_fallback"

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where != "turn_end" or point.phase != "forward":
            return
        times = self.times(machine, machine.scenario.plan.micro_batches)
        if machine.scenario.device.kind == "npu":
            yield Instruction("kernel", operator="fallback", times_ns=times, dtype="fp32", shapes="[[65536]]")
            return
        there = np.where(times > 0, 1.0, 0.0)
        copy = 20_000.0 * there
        down, up = "Memcpy DtoH (Device -> Pageable)", "Memcpy HtoD (Pageable -> Device)"
        yield Instruction(
            "kernel", operator="aten::_to_copy", name=down, slice_kind="copy", times_ns=copy, size=1 << 20
        )
        yield Instruction("sync", operator="aten::_to_copy", slice_kind="runtime", times_ns=there)
        yield Instruction("host", name="aten::nonzero", slice_kind="operator", times_ns=times)
        yield Instruction("kernel", operator="aten::_to_copy", name=up, slice_kind="copy", times_ns=copy, size=1 << 20)

    def culprit(self, machine: Machine) -> Culprit:
        return Culprit(ranks=self.ranks(machine), operator="aten::nonzero")
