"""``step_jitter``: now and then a step takes much longer, on all ranks and without any pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stepscope.simulate.faults.planted import WHERE, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class StepJitter(Planted):
    """``amount``: a share of the step, on average; it falls on few steps."""

    kind: ClassVar[str] = "step_jitter"
    places: ClassVar[frozenset[str]] = WHERE | {"steps"}

    def steps(self, machine: Machine) -> list[int]:
        if self.entry.steps:
            return list(self.entry.steps)
        before, count = machine.scenario.steps_before, machine.conditions.steps
        drawn = np.random.default_rng((machine.scenario.seed, 77)).permutation(np.arange(before, count))
        return sorted(drawn[: max((count - before) // 4, 2)].tolist())

    def apply(self, machine: Machine) -> None:
        steps = self.steps(machine)
        share = machine.scenario.steps / max(len(steps), 1)
        machine.conditions.compute *= 1 + self.amount * share * self.where(machine)
