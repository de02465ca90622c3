"""``gc_pause``: Python's garbage collector holds hosts up, each in other steps, so that every rank waits for all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stepscope.simulate.faults.planted import WHERE, Planted
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class GcPause(Planted):
    """``amount``: a share of the step, on average over steps."""

    kind: ClassVar[str] = "gc_pause"
    causes: ClassVar[tuple[str, ...]] = ("garbage_collection",)
    places: ClassVar[frozenset[str]] = WHERE | {"every"}

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where != "turn_end" or point.phase != "forward" or point.micro_batch:
            return
        every = self.entry.every or 3
        ranks, steps = np.arange(machine.layout.world), np.arange(machine.conditions.steps)
        due = (ranks[:, None] + steps[None, :]) % every == 0
        chosen = np.isin(ranks, self.ranks(machine))[:, None]
        times = due * chosen * (self.amount * every * self.step_ns)
        yield Instruction("host", name="Python GC", slice_kind="gc", times_ns=times, phase="")
