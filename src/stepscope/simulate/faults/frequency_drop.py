"""``frequency_drop``: a device runs at a lower clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class FrequencyDrop(Planted):
    """``amount``: how much longer its kernels take."""

    kind: ClassVar[str] = "frequency_drop"

    def usual_ranks(self, machine: Machine) -> list[int]:
        return [machine.layout.world // 2]

    def apply(self, machine: Machine) -> None:
        slower = 1 + self.amount * self.where(machine)
        machine.conditions.compute *= slower
        machine.conditions.frequency /= slower
