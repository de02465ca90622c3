"""What is the same for all ranks and steps of a stage: names, tracks and kinds of the slices of each instruction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import Bools, Int64s
from stepscope.simulate.instructions import STREAMS, Instruction
from stepscope.simulate.outputs.naming import RUNTIME_CALLS, Names, names_of
from stepscope.simulate.recording import is_segment

#: Tracks of a rank; streams follow.
MAIN, AUTOGRAD, COLLECTIVES_ON_HOST = range(3)
FIRST_STREAM: Final = 10
FIRST_PLANE: Final = 30
FREQUENCY_TRACK: Final = 40
_STREAM_NUMBERS: Final = {"gpu": 7, "npu": 2, "cpu": 0}
_CALLED: Final = ("kernel", "collective", "send", "receive")


def stream_number(stream: str, device: str) -> int:
    """The number that a profiler shows for a stream."""
    return _STREAM_NUMBERS[device] + 4 * STREAMS.index(stream)


@dataclass
class StageRows:
    """The rows of a stage's record as arrays and text columns, by row."""

    instructions: list[Instruction]
    device: str  # its kind
    names: list[Names] = field(init=False)
    texts: pl.DataFrame = field(init=False)
    on_device: Int64s = field(init=False)  # rows that have a slice beside the host's
    called: Bools = field(init=False)  # which the host launches
    collective: Bools = field(init=False)
    stream: Int64s = field(init=False)
    device_track: Int64s = field(init=False)
    host_track: Int64s = field(init=False)
    bytes: Int64s = field(init=False)
    calls_in_group: Int64s = field(init=False)  # number of the call among those of its dimension

    def __post_init__(self) -> None:
        rows = self.instructions
        self.names = [names_of(each, self.device) for each in rows]
        self.called = np.array([each.action in _CALLED and each.slice_kind != "" for each in rows])
        self.collective = np.array([each.slice_kind == "collective" for each in rows])
        self.on_device = np.flatnonzero(self.called | np.array([each.action == "get_device" for each in rows]))
        self.stream = np.array([stream_number(each.stream, self.device) for each in rows])
        backward = np.array([each.phase == "backward" for each in rows])
        self.host_track = np.where(backward, AUTOGRAD, MAIN)
        streams = np.array([FIRST_STREAM + STREAMS.index(each.stream) for each in rows])
        if self.device == "cpu":
            streams = np.where(self.collective, COLLECTIVES_ON_HOST, self.host_track)
        self.device_track = streams
        self.bytes = np.array([each.size for each in rows])
        self.calls_in_group = np.zeros(len(rows), np.int64)
        for dimension in {each.dimension for each in rows if each.action == "collective"}:
            own = np.flatnonzero([each.action == "collective" and each.dimension == dimension for each in rows])
            self.calls_in_group[own] = np.arange(len(own))
        self.calls_per_step = {
            dimension: sum(1 for each in rows if each.action == "collective" and each.dimension == dimension)
            for dimension in {each.dimension for each in rows}
        }
        self.texts = self._texts()

    @property
    def host_only(self) -> Int64s:
        """Rows of which the host alone has a slice."""
        return np.flatnonzero([each.action in ("host", "get") and each.slice_kind != "" for each in self.instructions])

    @property
    def syncs(self) -> Int64s:
        return np.flatnonzero([each.action == "sync" for each in self.instructions])

    @property
    def with_node(self) -> Bools:
        return np.array([bool(each.node) for each in self.names])

    @property
    def optional(self) -> Bools:
        """Rows that may not happen on a rank or in a step."""
        return np.array([each.times_ns is not None or is_segment(each) for each in self.instructions])

    def _texts(self) -> pl.DataFrame:
        npu = self.device == "npu"
        columns: dict[str, list[str | None]] = {
            "slice_name": [each.slice for each in self.names],
            "operator": [each.operator or None for each in self.names],
            "type": [each.type or None for each in self.names],
            "core": [each.core or None for each in self.names],
            "call": [each.call for each in self.names],
            "runtime": [RUNTIME_CALLS.get(each.call) for each in self.names],
            "node": [f"autograd::engine::evaluate_function: {each.node}" for each in self.names],
            "phase": [each.phase or None for each in self.instructions],
            "module": [each.module or None for each in self.instructions],
            "shapes": [(_npu_shapes(each.shapes) if npu else each.shapes) or None for each in self.names],
            "dtypes": [each.dtypes or None for each in self.names],
            "slice_kind": [self._kind(each) for each in self.instructions],
        }
        return pl.DataFrame(columns).with_columns(pl.all().cast(pl.Categorical))

    def _kind(self, instruction: Instruction) -> str:
        if self.device == "cpu" and instruction.slice_kind == "kernel":
            return "operator"
        return instruction.slice_kind


def _npu_shapes(shapes: str) -> str:
    """Shapes as Ascend's files write them.

    >>> _npu_shapes("[[64, 512], [512, 10]]")
    '64,512;512,10'
    """
    return shapes.replace("], [", ";").replace("[", "").replace("]", "").replace(" ", "")
