"""Noise, all of it from the seed: the same scenario without a fault has the same noise everywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.arrays import Float32s, Float64s
from stepscope.facts.simulation import NoiseLevels, simulation_facts
from stepscope.simulate.scenario import Scenario

_RANK, _STEP, _HOST, _BLOCK, CLOCK, LENGTHS, EXPERTS, MEETING = range(8)
_WIDEST: Final = 3.0  # standard deviations


class Noise:
    """Factors around 1 for ranks, steps, micro-batches and kernels."""

    def __init__(self, scenario: Scenario, ranks: int) -> None:
        self.levels = simulation_facts().noise[scenario.noise]
        self._seed, self._ranks = scenario.seed, ranks
        spread = self.levels.rank_spread
        drawn = self._normal(_RANK, (ranks,)) * spread / 4
        self.rank: Float64s = 1 + np.clip(drawn, -spread / 2, spread / 2)

    def generator(self, *key: int) -> np.random.Generator:
        """A source of random numbers for one purpose."""
        return np.random.default_rng((self._seed, *key))

    def of_step(self, step: int) -> Float64s:
        """Compute of each rank in a step, its own usual speed included."""
        return self.rank * (1 + self.levels.step * self._normal(_STEP, (self._ranks,), step))

    def of_host(self, step: int) -> Float64s:
        """Work of each rank's host in a step."""
        return 1 + self.levels.host * self._normal(_HOST, (self._ranks,), step)

    def of_stage(self, stage: int, step: int, blocks: int, ranks: int) -> StageNoise:
        """What the ranks of a stage meet in a step beyond that."""
        generator = self.generator(_BLOCK, stage, step)
        whole = np.clip(generator.standard_normal((blocks, ranks)), -_WIDEST, _WIDEST)
        return StageNoise(self.levels, 1 + self.levels.micro_batch * whole, generator)

    def _normal(self, purpose: int, shape: tuple[int, ...], *key: int) -> Float64s:
        return np.clip(self.generator(purpose, *key).standard_normal(shape), -_WIDEST, _WIDEST)


@dataclass(frozen=True)
class StageNoise:
    """``block`` is a factor for each block and rank; kernels are drawn in their order, as many as are asked for."""

    levels: NoiseLevels
    block: Float64s
    _generator: np.random.Generator

    def of_kernels(self, kernels: int) -> Float32s:
        """Normal numbers by kernel and rank, for the kernels that come next."""
        each = self._generator.standard_normal((kernels, self.block.shape[1]), np.float32)  # there are many of them
        return np.clip(each, -_WIDEST, _WIDEST, out=each)
