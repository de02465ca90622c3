"""``data_starved``: the input pipeline is too slow, the copy to the device, the loop's own code, or taking a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Culprit, Part, Planted
from stepscope.simulate.instructions import Instruction

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point


class DataStarved(Planted):
    """``amount``: how much longer than the step a batch takes; for the other causes a share of the step."""

    kind: ClassVar[str] = "data_starved"
    causes: ClassVar[tuple[str, ...]] = ("processing", "transfer", "user_code", "getnext")

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "input" if cause == "processing" else ""

    def usual_ranks(self, machine: Machine) -> list[int]:
        return [int(rank) for rank in machine.layout.stage_ranks(0)]

    def apply(self, machine: Machine) -> None:
        if self.cause == "processing":
            slow_stage(machine, self.ranks(machine), self.steps(machine), self.amount, self.step_ns)

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where != "after_input" or point.stage or self.cause == "processing":
            return
        times = self.times(machine)
        if self.cause == "transfer":
            name = "Memcpy HtoD (Pageable -> Device)"
            yield Instruction(
                "kernel", operator="aten::copy_", name=name, slice_kind="copy", times_ns=times, size=1 << 28
            )
        elif self.cause == "user_code":
            yield Instruction("host", slice_kind="", times_ns=times, phase="")
        else:
            name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
            yield Instruction("host", name=name, slice_kind="annotation", times_ns=times, phase="data")

    def culprit(self, machine: Machine) -> Culprit:
        stages = machine.scenario.input.stages
        name = stages[slowest_stage(machine)].name if self.cause == "processing" else None
        return Culprit(ranks=self.ranks(machine), pipeline_op=name)


def slowest_stage(machine: Machine) -> int:
    """The stage that needs most for a batch as it is."""
    stages = machine.scenario.input.stages
    return max(range(len(stages)), key=lambda stage_index: stages[stage_index].us / stages[stage_index].workers)


def slow_stage(machine: Machine, ranks: list[int], steps: list[int], amount: float, step_ns: float) -> None:
    """Let the slowest stage need as long for a batch as a step takes, and ``amount`` of a step more."""
    stage_index = slowest_stage(machine)
    stage = machine.scenario.input.stages[stage_index]
    factor = step_ns * (1 + amount) * stage.workers / (stage.us * 1000)
    for step in steps:
        machine.conditions.input[stage_index, ranks, step] *= factor
