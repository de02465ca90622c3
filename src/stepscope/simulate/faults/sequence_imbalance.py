"""``sequence_imbalance``: sequences of very different length fall on different ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stepscope.simulate.faults.planted import Planted
from stepscope.simulate.noise import LENGTHS

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class SequenceImbalance(Planted):
    """``amount``: standard deviation of the logarithm of lengths; means stay as they are."""

    kind: ClassVar[str] = "sequence_imbalance"

    def apply(self, machine: Machine) -> None:
        conditions, layout = machine.conditions, machine.layout
        drawn = machine.noise.generator(LENGTHS).standard_normal(
            (machine.scenario.plan.dp, conditions.steps, conditions.micro_batches)
        )
        lengths = np.exp(self.amount * drawn - self.amount**2 / 2)
        replica = [layout.coordinates(rank)["dp"] for rank in range(layout.world)]
        conditions.length *= lengths[replica]
