"""``sequence_imbalance``: sequences of very different length fall on different ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stepscope.simulate.faults.planted import Part, Planted
from stepscope.simulate.noise import LENGTHS

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class SequenceImbalance(Planted):
    """``amount``: standard deviation of the logarithm of lengths; a step has as many tokens in all as ever."""

    kind: ClassVar[str] = "sequence_imbalance"
    places: ClassVar[frozenset[str]] = frozenset()  # it is everywhere

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "ranks"

    def apply(self, machine: Machine) -> None:
        conditions, layout = machine.conditions, machine.layout
        drawn = machine.noise.generator(LENGTHS).standard_normal(
            (machine.scenario.plan.dp, conditions.steps, conditions.micro_batches)
        )
        lengths = np.exp(self.amount * (drawn - drawn.max(axis=(0, 2), keepdims=True)))
        shares = lengths / lengths.mean(axis=(0, 2), keepdims=True)
        lengths = np.maximum(shares, 1 / machine.scenario.workload.sequence)  # one token at least
        replica = [layout.coordinates(rank)["dp"] for rank in range(layout.world)]
        conditions.length *= lengths[replica]
