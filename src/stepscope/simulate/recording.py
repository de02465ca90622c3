"""What is kept of a run: times of every instruction, or of stretches of compute between communication.

A step's times are written to a file, rank by rank, so that memory does not grow with ranks and steps.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from typing import IO, Final

import numpy as np

from stepscope.arrays import Int64s
from stepscope.simulate.instructions import COMPUTE, Instruction
from stepscope.simulate.program import StageProgram

HOST_START, HOST_END, START, END, READY, LAST = range(6)
_TIMES: Final = 6
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


@dataclass
class StageRecord:
    """The rows of a stage: which instruction each is of, and the step's times."""

    instructions: list[Instruction]
    row_of: list[int]  # of each instruction of the program
    times: Int64s
    file: IO[bytes]


@dataclass
class FullRecorder(Recorder):
    """Keeps all steps, of all instructions or, if ``coarse``, of stretches of compute."""

    programs: list[StageProgram]
    ranks: list[Int64s]  # by stage
    coarse: bool = False
    records: list[StageRecord] = field(init=False)

    def __post_init__(self) -> None:
        self.records = []
        for program, ranks in zip(self.programs, self.ranks, strict=True):
            instructions, row_of = _coarse_rows(program) if self.coarse else _all_rows(program)
            times = np.zeros((len(instructions), _TIMES, len(ranks)), np.int64)
            file = tempfile.TemporaryFile(prefix="stepscope-simulate-")  # noqa: SIM115
            self.records.append(StageRecord(instructions, row_of, times, file))
        self._busy = [np.zeros((len(record.instructions), record.times.shape[2]), np.int64) for record in self.records]
        self.steps = 0

    def begin_step(self, step: int) -> None:
        for record, busy in zip(self.records, self._busy, strict=True):
            record.times[:] = 0
            busy[:] = 0

    def add(self, stage: int, row: int, instruction: Instruction, times: InstructionTimes) -> None:
        record = self.records[stage]
        row_number = record.row_of[row]
        kept = record.times[row_number]
        kept[HOST_END] = times.host_end
        device = times.device
        if record.instructions[row_number].operator == _SEGMENT and device is not None:
            if not kept[HOST_START].any():
                kept[HOST_START] = times.host_start
            took = device.end - device.start
            self._busy[stage][row_number] += took if instruction.times_ns is None else np.maximum(took, 0)
            kept[END] = device.end
            return
        kept[HOST_START] = times.host_start
        if device is not None:
            kept[START], kept[END], kept[READY] = device.start, device.end, device.ready
            if device.last is not None:
                kept[LAST] = device.last

    def complete(
        self, stage: int, row: int, end: Int64s, ready: Int64s, last: Int64s, start: Int64s | None = None
    ) -> None:
        record = self.records[stage]
        times = record.times[record.row_of[row]]
        times[END], times[READY], times[LAST] = end, ready, last
        if start is not None:
            times[START] = start

    def end_mark(self, stage: int, host: Int64s) -> None:
        self.records[stage].times[0, HOST_END] = host

    def end_step(self, step: int) -> None:
        for record, busy in zip(self.records, self._busy, strict=True):
            for row_number, instruction in enumerate(record.instructions):
                if instruction.operator == _SEGMENT:
                    record.times[row_number, START] = record.times[row_number, END] - busy[row_number]
            record.file.write(np.ascontiguousarray(record.times.transpose(2, 0, 1)).tobytes())
        self.steps = step + 1

    def of_rank(self, stage: int, index_in_stage: int) -> Int64s:
        """Times of the rank with that index in its stage: (steps, rows, times)."""
        record = self.records[stage]
        rows, ranks = len(record.instructions), len(self.ranks[stage])
        size = rows * _TIMES * 8
        steps = []
        for step in range(self.steps):
            record.file.seek((step * ranks + index_in_stage) * size)
            steps.append(np.frombuffer(record.file.read(size), np.int64).reshape(rows, _TIMES))
        return np.stack(steps)

    def let_go(self) -> None:
        """All steps are over: what held the last one is not needed any more."""
        for record in self.records:
            record.times = np.empty((0, _TIMES, 0), np.int64)

    def close(self) -> None:
        for record in self.records:
            record.file.close()


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
