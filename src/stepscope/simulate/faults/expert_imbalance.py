"""``expert_imbalance``: the experts of one rank get more tokens than those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stepscope.arrays import Float64s
from stepscope.simulate.faults.planted import Part, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class ExpertImbalance(Planted):
    """``amount``: how many more tokens the hot experts get than the others; all together get as many as ever."""

    kind: ClassVar[str] = "expert_imbalance"

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "experts"

    def usual_ranks(self, machine: Machine) -> list[int]:
        layout = machine.layout
        return [rank for rank in range(layout.world) if layout.coordinates(rank)["ep"] == 0]

    def apply(self, machine: Machine) -> None:
        share_tokens(machine, 1 + self.amount * self.where(machine))


def share_tokens(machine: Machine, weight: Float64s) -> None:
    """Divide the tokens of each group of experts by weight (ranks, steps): what some get more, others lack."""
    layout = machine.layout
    if not layout.groups["ep"]:
        return
    members = np.array([group.ranks for group in layout.groups["ep"]])
    weights = weight[members]
    machine.conditions.experts[members] *= weights / weights.mean(axis=1, keepdims=True)
