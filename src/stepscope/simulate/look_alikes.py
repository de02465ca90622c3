"""What looks like a fault and is none: nobody should be accused for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from stepscope.simulate.faults.data_starved import slowest_stage
from stepscope.simulate.faults.expert_imbalance import share_tokens
from stepscope.simulate.faults.planted import Part, Planted
from stepscope.simulate.instructions import Instruction
from stepscope.simulate.memory import ExtraBlocks

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine
    from stepscope.simulate.program import Point

_CACHE_SITE: Final = "train.py(31): main\nmodel.py(23): positions"


class _LookAlike(Planted):
    costs: ClassVar[bool] = False


class FirstStepGrowth(_LookAlike):
    """Buffers and caches that are made in the first two steps and stay. ``amount``: MiB."""

    kind: ClassVar[str] = "first_step_growth"
    places: ClassVar[frozenset[str]] = frozenset()
    usual_amount: ClassVar[float] = 64.0

    def apply(self, machine: Machine) -> None:
        before = machine.scenario.steps_before
        size = np.zeros((machine.layout.world, machine.conditions.steps), np.int64)
        size[:, before : before + 2] = int(self.amount * 2**20)
        machine.memory.extra.append(ExtraBlocks(_CACHE_SITE, "aten::empty", size))


class ReplacedEveryStep(_LookAlike):
    """A buffer that lives until the next step replaces it. ``amount``: MiB."""

    kind: ClassVar[str] = "replaced_every_step"
    places: ClassVar[frozenset[str]] = frozenset()
    usual_amount: ClassVar[float] = 64.0

    def apply(self, machine: Machine) -> None:
        size = np.full((machine.layout.world, machine.conditions.steps), int(self.amount * 2**20), np.int64)
        machine.memory.extra.append(ExtraBlocks(_CACHE_SITE, "aten::clone", size, lives_steps=1))


class AlwaysLast(_LookAlike):
    """One rank is always the last, by less than anybody would notice. ``amount``: how much longer its kernels take."""

    kind: ClassVar[str] = "always_last"
    usual_amount: ClassVar[float] = 0.004

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "ranks"

    def usual_ranks(self, machine: Machine) -> list[int]:
        return [machine.layout.world // 2]

    def apply(self, machine: Machine) -> None:
        machine.conditions.compute *= 1 + self.amount * self.where(machine)


class SmallStageDifference(AlwaysLast):
    """One stage needs a little more than the others."""

    kind: ClassVar[str] = "small_stage_difference"
    usual_amount: ClassVar[float] = 0.02

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "stages"

    def usual_ranks(self, machine: Machine) -> list[int]:
        return [int(rank) for rank in machine.layout.stage_ranks(machine.scenario.plan.pp // 2)]


class EqualSlowdown(AlwaysLast):
    """All ranks are slower, as on another machine: there is nobody to compare with."""

    kind: ClassVar[str] = "equal_slowdown"
    usual_amount: ClassVar[float] = 0.15

    @classmethod
    def needs(cls, cause: str) -> Part:
        return ""

    def usual_ranks(self, machine: Machine) -> list[int]:
        return list(range(machine.layout.world))


class RotatingSlowRank(_LookAlike):
    """In every step another rank is the last, because its data are. ``amount``: how much longer its kernels take."""

    kind: ClassVar[str] = "rotating_slow_rank"
    places: ClassVar[frozenset[str]] = frozenset()
    usual_amount: ClassVar[float] = 0.02

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "ranks"

    def apply(self, machine: Machine) -> None:
        steps = np.arange(machine.conditions.steps)
        machine.conditions.compute[steps % machine.layout.world, steps] *= 1 + self.amount


class RotatingHotExpert(_LookAlike):
    """In every step other experts get more tokens. ``amount``: how many more."""

    kind: ClassVar[str] = "rotating_hot_expert"
    places: ClassVar[frozenset[str]] = frozenset()
    usual_amount: ClassVar[float] = 0.05

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "experts"

    def apply(self, machine: Machine) -> None:
        own = np.array([machine.layout.coordinates(rank)["ep"] for rank in range(machine.layout.world)])
        hot = np.arange(machine.conditions.steps) % machine.scenario.plan.ep
        share_tokens(machine, 1 + self.amount * (own[:, None] == hot))


class SlowEnoughLoader(_LookAlike):
    """A stage of the input pipeline is slow, and still fast enough. ``amount``: its share of a step per batch."""

    kind: ClassVar[str] = "slow_enough_loader"
    places: ClassVar[frozenset[str]] = frozenset()
    usual_amount: ClassVar[float] = 0.85

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "input"

    def apply(self, machine: Machine) -> None:
        stage_index = slowest_stage(machine)
        stage = machine.scenario.input.stages[stage_index]
        machine.conditions.input[stage_index] *= self.amount * self.step_ns * stage.workers / (stage.us * 1000)


class HiddenCollective(_LookAlike):
    """Reductions of gradients are slow and still hidden behind backward. ``amount``: how much longer they take."""

    kind: ClassVar[str] = "hidden_collective"
    places: ClassVar[frozenset[str]] = frozenset()
    usual_amount: ClassVar[float] = 0.3

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "reductions"

    def apply(self, machine: Machine) -> None:
        factor = machine.conditions.of_communication("dp")
        factor *= 1 + self.amount


class CheckpointStep(_LookAlike):
    """One step saves a checkpoint. ``amount``: how many steps it takes."""

    kind: ClassVar[str] = "checkpoint_step"
    usual_amount: ClassVar[float] = 0.5

    def steps(self, machine: Machine) -> list[int]:
        return list(self.entry.steps) or [machine.conditions.steps - 2]

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where == "step_end":
            name = "save_checkpoint"
            yield Instruction("host", name=name, slice_kind="annotation", times_ns=self.times(machine), phase="")


class WarmUp(CheckpointStep):
    """The first recorded step compiles. ``amount``: how many steps it takes."""

    kind: ClassVar[str] = "warm_up"
    usual_amount: ClassVar[float] = 2.0

    def steps(self, machine: Machine) -> list[int]:
        return [machine.scenario.steps_before]

    def insert(self, point: Point, machine: Machine) -> Iterable[Instruction]:
        if point.where == "step_begin":
            name = "torch/_inductor/compile_fx.py(1552): compile_fx"
            yield Instruction("host", name=name, slice_kind="python", times_ns=self.times(machine), phase="")


LOOK_ALIKES: Final[dict[str, type[Planted]]] = {
    each.kind: each
    for each in (
        FirstStepGrowth,
        ReplacedEveryStep,
        AlwaysLast,
        SmallStageDifference,
        EqualSlowdown,
        RotatingSlowRank,
        RotatingHotExpert,
        SlowEnoughLoader,
        HiddenCollective,
        CheckpointStep,
        WarmUp,
    )
}
