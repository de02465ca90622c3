"""How long everything takes in a step, for all instructions and ranks of a stage at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stepscope.arrays import Bools, Float32s, Float64s, Int64s
from stepscope.simulate.conditions import Conditions
from stepscope.simulate.noise import Noise
from stepscope.simulate.program import StageProgram

_ON_THE_HOST = ("host",)


@dataclass
class StageLengths:
    """What is the same in all steps, by instruction."""

    program: StageProgram
    ranks: Int64s
    ns: Float64s = field(init=False)
    block: Int64s = field(init=False)
    jitter: Int64s = field(init=False)
    computes: Bools = field(init=False)

    def __post_init__(self) -> None:
        instructions = self.program.instructions
        self.ns = np.array([each.ns for each in instructions])
        sizes = [len(block.instructions) for block in self.program.blocks]
        self.block = np.repeat(np.arange(len(sizes)), sizes)
        own = np.array([not each.planted for each in instructions])
        self.jitter = np.where(own, np.cumsum(own) - 1, -1)
        self.computes = np.array([each.slice_kind == "kernel" for each in instructions])
        # Copies run at the speed of the bus, the host at its own.
        self._by_device = np.array(
            [each.slice_kind != "copy" and each.action not in _ON_THE_HOST for each in instructions]
        )
        self._by_host = np.array([each.action in _ON_THE_HOST for each in instructions])
        self._grows = {
            kind: np.flatnonzero([each.grows == kind for each in instructions])
            for kind in ("tokens", "attention", "experts")
        }
        turns = [block.turn.micro_batch if block.turn is not None else 0 for block in self.program.blocks]
        self._micro_batch = np.array(turns)[self.block]
        self._operator = np.array([each.operator for each in instructions])
        self._collectives = np.flatnonzero([each.action == "collective" for each in instructions])
        self._planted = [(row, each.times_ns) for row, each in enumerate(instructions) if each.times_ns is not None]
        self._factors = [
            (row, each.factor)
            for row, each in enumerate(instructions)
            if each.factor is not None and each.action != "collective"
        ]

    def of_step(self, step: int, conditions: Conditions, noise: Noise) -> StepLengths:
        """Times of a step: (instructions, ranks)."""
        ranks = self.ranks
        blocks, kernels = len(self.program.blocks), int(self.jitter.max(initial=-1)) + 1
        whole, each = noise.of_stage(self.program.stage, step, blocks, kernels, len(ranks))
        own = self.jitter >= 0
        time = np.repeat(self.ns[:, None], len(ranks), axis=1)
        time[own] *= 1 + noise.levels.kernel * each[self.jitter[own]]
        device = (noise.of_step(step) * conditions.compute[:, step])[ranks]
        host_noise = noise.of_host(step)[ranks]
        time[self._by_device] *= whole[self.block[self._by_device]] * device
        time[self._by_host] *= host_noise
        self._grow(time, conditions, step)
        for kind, factor in conditions.operators.items():
            time[self._operator == kind] *= factor[ranks, step]
        for row, factor in self._factors:
            time[row] *= factor[ranks, step]
        for row, planted in self._planted:
            time[row] = planted[ranks, step]
        operators = host_noise * conditions.host[ranks, step]
        lateness = np.abs(each[self.jitter[self._collectives]]) * (noise.levels.end_us * 1000)
        lateness[self.jitter[self._collectives] < 0] = 0.0
        late = dict(zip(self._collectives.tolist(), lateness, strict=True))
        return StepLengths(np.rint(time, out=time).astype(np.int64), late, operators)

    def _grow(self, time: Float64s, conditions: Conditions, step: int) -> None:
        length = conditions.length[self.ranks, step].T
        for kind, rows in self._grows.items():
            by_length = length[self._micro_batch[rows]]
            time[rows] *= by_length * by_length if kind == "attention" else by_length
        time[self._grows["experts"]] *= conditions.experts[self.ranks, step]


@dataclass(frozen=True)
class StepLengths:
    """``time`` by instruction and rank; ``late`` by collective: how much after the first a rank is done."""

    time: Int64s
    late: dict[int, Float32s]
    host: Float64s  # factor of operators on the host, by rank
