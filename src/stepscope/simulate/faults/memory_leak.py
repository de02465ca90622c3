"""``memory_leak``: a place in the program keeps memory from step to step."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stepscope.simulate.faults.planted import Culprit, Planted
from stepscope.simulate.memory import ExtraBlocks

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


SITE = "train.py(44): main\nmetrics.py(12): remember"


class MemoryLeak(Planted):
    """``amount``: MiB that are kept per step."""

    kind: ClassVar[str] = "memory_leak"
    costs: ClassVar[bool] = False
    usual_amount: ClassVar[float] = 48.0

    def apply(self, machine: Machine) -> None:
        size = np.asarray(self.where(machine) * self.amount * 2**20, np.int64)
        machine.memory.extra.append(ExtraBlocks(SITE, "aten::clone", size))

    def culprit(self, machine: Machine) -> Culprit:
        return Culprit(ranks=self.ranks(machine), operator="aten::clone")
