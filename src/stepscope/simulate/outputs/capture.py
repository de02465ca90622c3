"""What is recorded of a rank: its times on its own clock, and who it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.arrays import NULL, Int64s
from stepscope.simulate.instructions import Instruction
from stepscope.simulate.outputs.naming import hcom_name
from stepscope.simulate.outputs.stage_rows import StageRows
from stepscope.simulate.plan import Group
from stepscope.simulate.recording import HOST_START


@dataclass(frozen=True)
class DeviceRows:
    """Where the device slices of a rank come from: step and row of each, and its slice id."""

    step: Int64s
    row: Int64s
    slice: Int64s


@dataclass(frozen=True)
class Capture:
    """What is recorded of a rank: all its times on its own clock, and from which step on."""

    rows: StageRows
    times: Int64s  # (steps, rows, times)
    before: int
    coarse: bool
    rank: int
    device_index: int
    groups: dict[str, Group]  # of the rank, by dimension
    runtime_calls: bool = False  # whether the runtime's own calls are recorded, as Ascend's level 2 does

    @property
    def steps(self) -> int:
        return int(self.times.shape[0])

    @property
    def window_ns(self) -> int:
        """When the window opened."""
        return int(self.times[self.before, 0, HOST_START])

    def correlation(self, step: Int64s, row: Int64s) -> Int64s:
        """The number that joins a launch with what it launched."""
        return np.asarray(step * len(self.rows.instructions) + row + 1, np.int64)

    def sequence(self, step: Int64s, row: Int64s) -> Int64s:
        """The number of each call within its group, over all steps; NULL for transfers between two."""
        rows = self.rows
        per_step = np.array([rows.calls_per_step.get(each.dimension, 0) for each in rows.instructions])
        numbered = np.array([each.action == "collective" for each in rows.instructions])[row]
        return np.where(numbered, step * per_step[row] + rows.calls_in_group[row], NULL)

    def slice_names(self, step: Int64s, row: Int64s) -> list[str]:
        """Names on an NPU, where each communication call has one of its own."""
        sequence = self.sequence(step, row)
        numbers = np.where(sequence == NULL, step * len(self.rows.instructions) + row, sequence)
        names = []
        for row_number, number in zip(row.tolist(), numbers.tolist(), strict=True):
            kind, dimension = self.rows.instructions[row_number].kind, self.rows.instructions[row_number].dimension
            own = self.rows.names[row_number].slice
            names.append(hcom_name(kind, self.groups[dimension].name, number) if kind else own)
        return names

    def peer(self, instruction: Instruction) -> int:
        """The other rank of a transfer between stages."""
        assert instruction.key is not None
        direction, _, chunk = instruction.key
        stages = len(self.groups["pp"].ranks)
        # The key names the receiving chunk; forward transfers come from the one before it, backward ones from behind.
        sender = (chunk - 1 if direction == "forward" else chunk + 1) % stages
        return int(self.groups["pp"].ranks[chunk % stages if instruction.kind == "send" else sender])
