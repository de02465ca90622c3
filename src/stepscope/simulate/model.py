"""A scenario made ready to run: machine, programs, faults. Running it twice gives the same times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.arrays import Int64s
from stepscope.simulate.clocks import clocks_of
from stepscope.simulate.conditions import Conditions
from stepscope.simulate.data_pipeline import InputPipeline
from stepscope.simulate.execution import Execution, Machine, Periods
from stepscope.simulate.faults import Planted
from stepscope.simulate.instructions import Instruction
from stepscope.simulate.network import Links
from stepscope.simulate.noise import Noise
from stepscope.simulate.plan import Layout
from stepscope.simulate.program import Point, StageProgram, stage_program
from stepscope.simulate.recording import FullRecorder, Recorder
from stepscope.simulate.scenario import Scenario


@dataclass
class Model:
    """A job with its faults applied. ``scenario`` is as the faults left it."""

    scenario: Scenario
    machine: Machine
    programs: list[StageProgram]
    planted: Sequence[Planted]

    @property
    def layout(self) -> Layout:
        return self.machine.layout

    @property
    def steps(self) -> int:
        """Simulated steps, those before the window included."""
        return self.scenario.steps_before + self.scenario.steps

    @property
    def stage_ranks(self) -> list[Int64s]:
        return [self.layout.stage_ranks(stage) for stage in range(self.scenario.plan.pp)]

    def run(self, recorder: Recorder | None = None) -> Result:
        """Simulate; what of it is kept, the recorder decides."""
        stages = self.scenario.input.stages if self.scenario.input.mode != "none" else ()
        pipeline = InputPipeline(stages, self.layout.per_stage) if stages else None
        execution = Execution(self.machine, self.programs, recorder or Recorder(), pipeline)
        periods = execution.run(self.steps)
        if pipeline is not None:
            pipeline.run_on(self.machine.conditions.input[:, : self.layout.per_stage, -1])
        return Result(self, periods, pipeline)

    def recorder(self, *, coarse: bool = False) -> FullRecorder:
        return FullRecorder(self.programs, self.stage_ranks, coarse)


@dataclass
class Result:
    """What a run gave."""

    model: Model
    periods: Periods
    input: InputPipeline | None

    @property
    def step_ns(self) -> float:
        """Mean period of the recorded steps, over all ranks."""
        return float(np.mean(self.periods.lengths(self.model.scenario.steps_before)))


def build(scenario: Scenario, planted: Sequence[Planted] = ()) -> Model:
    """The model of a scenario with some faults of given amounts."""
    for fault in planted:
        scenario = fault.alter(scenario)
    layout = Layout(scenario.plan, scenario.host.ranks)
    steps = scenario.steps_before + scenario.steps
    conditions = Conditions(layout.world, steps, scenario.plan.micro_batches, len(scenario.input.stages))
    noise = Noise(scenario, layout.world)
    links, clocks = Links(layout, scenario.network), clocks_of(scenario, layout, noise)
    machine = Machine(scenario, layout, links, conditions, noise, clocks)
    for fault in planted:
        fault.apply(machine)

    def insert(point: Point) -> Iterable[Instruction]:
        for fault in planted:
            yield from fault.insert(point, machine)

    def rewrite(instruction: Instruction) -> Instruction:
        for fault in planted:
            instruction = fault.rewrite(instruction, machine)
        return instruction

    programs = [stage_program(scenario, stage, insert, rewrite) for stage in range(scenario.plan.pp)]
    return Model(scenario, machine, programs, planted)
