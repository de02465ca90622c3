"""``tail_long``: much work between the end of backward and the end of the step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Final

from stepscope.simulate.faults.planted import Culprit, Planted
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point

_KERNELS: Final = 4


class TailLong(Planted):
    """``amount``: a share of the step, behind the update."""

    kind: ClassVar[str] = "tail_long"
    causes: ClassVar[tuple[str, ...]] = ("",)

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where in ("step_end",):
            times = self.times(machine, _KERNELS)
            for _ in range(_KERNELS):
                yield Instruction(
                    "kernel", operator="clip", times_ns=times, phase=point.phase, dtype="fp32", shapes="[[1048576]]"
                )

    def culprit(self, machine: Machine) -> Culprit:
        return Culprit(ranks=self.ranks(machine), operator="aten::_foreach_norm")
