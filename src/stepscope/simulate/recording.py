"""What is kept of a run: times of every instruction, or of stretches of compute between communication.

A step's times are written to a file as they come, and rank by rank when it is over, so that memory does not grow with
ranks and steps.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Final

import numpy as np

from stepscope.arrays import NONE, Int64s
from stepscope.simulate.instructions import COMPUTE, Instruction
from stepscope.simulate.program import StageProgram

HOST_START, HOST_END, START, END, READY, LAST = range(6)
_TIMES: Final = 6
_BYTES: Final = 8
_BYTES_AT_ONCE: Final = 1 << 21
_SEGMENT: Final = "segment"


@dataclass(frozen=True)
class DeviceTimes:
    """On the device, by rank; ``ready`` is when ``last``, the last of a group, arrived."""

    start: Int64s
    end: Int64s
    ready: Int64s
    last: Int64s | None = None


@dataclass(frozen=True)
class InstructionTimes:
    """Of the host's call, by rank, and of what it launched, if anything."""

    host_start: Int64s
    host_end: Int64s
    device: DeviceTimes | None = None


class Recorder:
    """Keeps nothing: for runs of which only the length of steps matters."""

    def begin_step(self, step: int) -> None:
        """A step begins."""

    def add(self, stage: int, row: int, instruction: Instruction, times: InstructionTimes) -> None:
        """An instruction's times on the ranks of a stage."""

    def complete(
        self, stage: int, row: int, end: Int64s, ready: Int64s, last: Int64s, start: Int64s | None = None
    ) -> None:
        """The rest of the times, where others decide them."""

    def end_mark(self, stage: int, host: Int64s) -> None:
        """The step's mark on the host ends."""

    def end_step(self, step: int) -> None:
        """A step is over."""


class StageRecord:
    """The rows of a stage: which instruction each is of, and their times on all ranks.

    Of a step that goes on, only the row that is being written is in memory.
    """

    def __init__(self, instructions: list[Instruction], row_of: list[int], ranks: int) -> None:
        self.instructions = instructions
        self._row_of = row_of  # of each instruction of the program
        self._ranks = ranks
        self._step_file, self._file = _unnamed_file(), _unnamed_file()  # by row and time; by step and rank
        self._row, self._times = NONE, np.zeros((_TIMES, ranks), np.int64)
        self._busy = np.zeros(ranks, np.int64)

    def begin_step(self) -> None:
        self._step_file.truncate(0)
        self._step_file.truncate(len(self.instructions) * _TIMES * self._ranks * _BYTES)

    def add(self, row: int, instruction: Instruction, times: InstructionTimes) -> None:
        self._open(self._row_of[row])
        kept, device = self._times, times.device
        kept[HOST_END] = times.host_end
        if is_segment(self.instructions[self._row]) and device is not None:
            if not kept[HOST_START].any():
                kept[HOST_START] = times.host_start
            took = device.end - device.start
            self._busy += took if instruction.times_ns is None else np.maximum(took, 0)
            kept[END] = device.end
            return
        kept[HOST_START] = times.host_start
        if device is not None:
            kept[START], kept[END], kept[READY] = device.start, device.end, device.ready
            if device.last is not None:
                kept[LAST] = device.last

    def replace(self, row: int, first_time: int, times: Int64s) -> None:
        """Times of an instruction that was added before, from one of them on."""
        self._open(NONE)
        self._write(self._row_of[row], first_time, times)

    def end_step(self) -> None:
        """From an order by row to one by rank."""
        self._open(NONE)
        rows = len(self.instructions)
        for ranks in _stretches(self._ranks, rows * _TIMES * _BYTES):
            by_rank = np.empty((len(ranks), rows, _TIMES), np.int64)
            for some in _stretches(rows, _TIMES * self._ranks * _BYTES):
                read = self._read(self._step_file, some.start * _TIMES * self._ranks, len(some) * _TIMES * self._ranks)
                times = read.reshape(len(some), _TIMES, self._ranks)[:, :, ranks.start : ranks.stop]
                by_rank[:, some.start : some.stop] = times.transpose(2, 0, 1)
            self._file.write(by_rank.data)

    def of_rank(self, index_in_stage: int, steps: int) -> Int64s:
        """Times of a rank: (steps, rows, times)."""
        rows = len(self.instructions)
        size = rows * _TIMES
        read = [
            self._read(self._file, (step * self._ranks + index_in_stage) * size, size).reshape(rows, _TIMES)
            for step in range(steps)
        ]
        return np.stack(read)

    def close(self) -> None:
        self._step_file.close()
        self._file.close()

    def _open(self, row: int) -> None:
        """Go on to a row; what was written of the last one is whole."""
        if row == self._row:
            return
        if self._row != NONE:
            if is_segment(self.instructions[self._row]):
                self._times[START] = self._times[END] - self._busy
            self._write(self._row, 0, self._times)
        self._row = row
        self._times[:] = 0
        self._busy[:] = 0

    def _write(self, row: int, first_time: int, times: Int64s) -> None:
        self._step_file.seek((row * _TIMES + first_time) * self._ranks * _BYTES)
        self._step_file.write(np.ascontiguousarray(times).data)

    def _read(self, file: IO[bytes], first: int, count: int) -> Int64s:
        file.seek(first * _BYTES)
        return np.frombuffer(file.read(count * _BYTES), np.int64)


@dataclass
class FullRecorder(Recorder):
    """Keeps all steps, of all instructions or, if ``coarse``, of stretches of compute."""

    programs: list[StageProgram]
    ranks: list[Int64s]  # by stage
    coarse: bool = False
    records: list[StageRecord] = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        rows_of = _coarse_rows if self.coarse else _all_rows
        self.records = [
            StageRecord(*rows_of(program), len(ranks)) for program, ranks in zip(self.programs, self.ranks, strict=True)
        ]

    def begin_step(self, step: int) -> None:
        for record in self.records:
            record.begin_step()

    def add(self, stage: int, row: int, instruction: Instruction, times: InstructionTimes) -> None:
        self.records[stage].add(row, instruction, times)

    def complete(
        self, stage: int, row: int, end: Int64s, ready: Int64s, last: Int64s, start: Int64s | None = None
    ) -> None:
        times = [end, ready, last] if start is None else [start, end, ready, last]
        self.records[stage].replace(row, END if start is None else START, np.stack(times))

    def end_mark(self, stage: int, host: Int64s) -> None:
        self.records[stage].replace(0, HOST_END, host)

    def end_step(self, step: int) -> None:
        for record in self.records:
            record.end_step()
        self.steps = step + 1

    def of_rank(self, stage: int, index_in_stage: int) -> Int64s:
        """Times of the rank with that index in its stage: (steps, rows, times)."""
        return self.records[stage].of_rank(index_in_stage, self.steps)

    def close(self) -> None:
        for record in self.records:
            record.close()


def _unnamed_file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="stepscope-simulate-")


def _stretches(count: int, bytes_of_each: int) -> Iterator[range]:
    """All of so many things, as many at once as may be in memory."""
    at_once = max(_BYTES_AT_ONCE // max(bytes_of_each, 1), 1)
    return (range(first, min(first + at_once, count)) for first in range(0, count, at_once))


def _all_rows(program: StageProgram) -> tuple[list[Instruction], list[int]]:
    instructions = program.instructions
    return instructions, list(range(len(instructions)))


def _coarse_rows(program: StageProgram) -> tuple[list[Instruction], list[int]]:
    """Kernels that follow each other without waiting for another stream become one."""
    rows: list[Instruction] = []
    row_of: list[int] = []
    for block in program.blocks:
        joined = False
        for instruction in block.instructions:
            merges = instruction.slice_kind == "kernel" and instruction.stream == COMPUTE
            if merges and joined and not instruction.after:
                row_of.append(len(rows) - 1)
                continue
            joined = merges
            rows.append(_segment(instruction) if merges else instruction)
            row_of.append(len(rows) - 1)
    return rows, row_of


def _segment(instruction: Instruction) -> Instruction:
    name = f"{instruction.phase} compute"
    return replace(instruction, operator=_SEGMENT, name=name, module="", shapes="", times_ns=None, keeps_bytes=0)


def is_segment(instruction: Instruction) -> bool:
    """Whether it stands for several kernels."""
    return instruction.operator == _SEGMENT
