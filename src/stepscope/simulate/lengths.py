"""How long everything takes in a step, for the ranks of a stage: some instructions at a time, for all ranks at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from stepscope.arrays import Bools, Float32s, Float64s, Int64s
from stepscope.simulate.conditions import Conditions
from stepscope.simulate.instructions import Instruction
from stepscope.simulate.noise import Noise, StageNoise
from stepscope.simulate.program import StageProgram

_ON_THE_HOST = ("host",)
_TIMES_AT_ONCE: Final = 1 << 16  # of instructions and ranks: memory does not grow with either


class StageLengths:
    """What is the same in all steps: the instructions of a stage, cut where blocks end."""

    def __init__(self, program: StageProgram, ranks: Int64s) -> None:
        self.ranks, self.stage, self.blocks = ranks, program.stage, len(program.blocks)
        self.pieces = list(_pieces(program, max(_TIMES_AT_ONCE // max(len(ranks), 1), 1)))

    def of_step(self, step: int, conditions: Conditions, noise: Noise) -> StepLengths:
        """Times of a step, to be asked for in the order of the instructions."""
        host_noise = noise.of_host(step)[self.ranks]
        world = _World(
            step,
            self.ranks,
            conditions,
            noise.of_stage(self.stage, step, self.blocks, len(self.ranks)),
            (noise.of_step(step) * conditions.compute[:, step])[self.ranks],
            host_noise,
        )
        return StepLengths(iter(self.pieces), world, host_noise * conditions.host[self.ranks, step])


@dataclass
class StepLengths:
    """The times of one step of a stage, of one piece after the other."""

    _pieces: Iterator[_Piece]
    _world: _World
    host: Float64s  # factor of operators on the host, by rank
    computing: Int64s = field(init=False)  # by rank, of the pieces so far
    _first: int = 0
    _time: Int64s = field(init=False)
    _late: dict[int, Float32s] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.computing = np.zeros(len(self._world.ranks), np.int64)
        self._time = np.empty((0, len(self._world.ranks)), np.int64)

    def time(self, row: int) -> Int64s:
        """How long an instruction takes, by rank."""
        self._reach(row)
        return np.asarray(self._time[row - self._first], np.int64)

    def late(self, row: int) -> Float32s:
        """How much after the first member of a collective each rank is done."""
        self._reach(row)
        return self._late[row]

    def _reach(self, row: int) -> None:
        while row >= self._first + len(self._time):
            self._first += len(self._time)
            piece = next(self._pieces)
            self._time, self._late = piece.times(self._world)
            self.computing += self._time[piece.computes].sum(axis=0)


@dataclass(frozen=True)
class _World:
    """What the ranks of a stage meet in a step: ``device`` and ``host`` are factors by rank."""

    step: int
    ranks: Int64s
    conditions: Conditions
    noise: StageNoise
    device: Float64s
    host: Float64s


@dataclass
class _Piece:
    """Some instructions that follow each other, as arrays by instruction."""

    instructions: list[Instruction]
    first_row: int
    block: Int64s
    micro_batch: Int64s
    computes: Bools = field(init=False)

    def __post_init__(self) -> None:
        instructions = self.instructions
        self._ns = np.array([each.ns for each in instructions])
        own = np.array([not each.planted for each in instructions])
        self._own = np.flatnonzero(own)
        self._jitter = np.where(own, np.cumsum(own) - 1, -1)
        self.computes = np.array([each.slice_kind == "kernel" for each in instructions])
        # Copies run at the speed of the bus, the host at its own.
        self._by_device = np.flatnonzero(
            [each.slice_kind != "copy" and each.action not in _ON_THE_HOST for each in instructions]
        )
        self._by_host = np.flatnonzero([each.action in _ON_THE_HOST for each in instructions])
        self._grows = {
            kind: np.flatnonzero([each.grows == kind for each in instructions])
            for kind in ("tokens", "attention", "experts")
        }
        self._operator = np.array([each.operator for each in instructions])
        self._collectives = np.flatnonzero([each.action == "collective" for each in instructions])
        self._planted = [(row, each.times_ns) for row, each in enumerate(instructions) if each.times_ns is not None]
        self._factors = [
            (row, each.factor)
            for row, each in enumerate(instructions)
            if each.factor is not None and each.action != "collective"
        ]

    def times(self, world: _World) -> tuple[Int64s, dict[int, Float32s]]:
        """Times by instruction and rank, and by collective how late each rank is done."""
        ranks, step, conditions, levels = world.ranks, world.step, world.conditions, world.noise.levels
        each = world.noise.of_kernels(len(self._own))
        time = np.repeat(self._ns[:, None], len(ranks), axis=1)
        time[self._own] *= 1 + levels.kernel * each
        time[self._by_device] *= world.noise.block[self.block[self._by_device]] * world.device
        time[self._by_host] *= world.host
        self._grow(time, conditions, ranks, step)
        for kind, factor in conditions.operators.items():
            time[self._operator == kind] *= factor[ranks, step]
        for row, factor in self._factors:
            time[row] *= factor[ranks, step]
        for row, planted in self._planted:
            time[row] = planted[ranks, step]
        jitter = self._jitter[self._collectives]
        lateness = np.zeros((len(jitter), len(ranks)), np.float32)
        lateness[jitter >= 0] = np.abs(each[jitter[jitter >= 0]]) * (levels.end_us * 1000)
        late = dict(zip((self.first_row + self._collectives).tolist(), lateness, strict=True))
        return np.rint(time, out=time).astype(np.int64), late

    def _grow(self, time: Float64s, conditions: Conditions, ranks: Int64s, step: int) -> None:
        length = conditions.length[ranks, step].T
        for kind, rows in self._grows.items():
            if not len(rows):
                continue
            by_length = length[self.micro_batch[rows]]
            time[rows] *= by_length * by_length if kind == "attention" else by_length
        time[self._grows["experts"]] *= conditions.experts[ranks, step]


def _pieces(program: StageProgram, most_instructions: int) -> Iterator[_Piece]:
    """Whole blocks, as many as may be together, at least one."""
    instructions: list[Instruction] = []
    block_of: list[int] = []
    micro_batch: list[int] = []
    first_row = 0
    for number, block in enumerate(program.blocks):
        if instructions and len(instructions) + len(block.instructions) > most_instructions:
            yield _Piece(instructions, first_row, np.array(block_of), np.array(micro_batch))
            first_row += len(instructions)
            instructions, block_of, micro_batch = [], [], []
        instructions = instructions + block.instructions
        block_of += [number] * len(block.instructions)
        micro_batch += [block.turn.micro_batch if block.turn is not None else 0] * len(block.instructions)
    if instructions:
        yield _Piece(instructions, first_row, np.array(block_of), np.array(micro_batch))
