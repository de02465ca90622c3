"""The weights of a replay while something is being changed: which dependencies take how much longer or shorter."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stepscope.analysis.foundation.intervals import Intervals
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.replay import Replay
from stepscope.arrays import Int64s

#: Of a dependency that no longer holds: whatever its source is, its target comes later.
_GONE = -(2**61)
_HOST = (edge_kinds.HOST,)
#: What says how long work takes; MEMBERS also leads to meetings, which belong to no rank.
WORK = (edge_kinds.COMPUTE, edge_kinds.COMMUNICATION, edge_kinds.COPY, edge_kinds.MEMBERS)
#: What a device slice waits for beside other work, so that it starts later than it might.
DELAYS = (edge_kinds.LAUNCH, edge_kinds.STREAM, edge_kinds.EVENT, edge_kinds.UNEXPLAINED)


class Weights:
    """Weights of a replay, as recorded at first. ``least`` is how long the steps of each rank take at least."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.weight = replay.graph.weight.copy()
        self.least = [np.zeros(len(periods.step), np.int64) for periods in replay.periods]
        self.touched: set[int] = set()  # ranks, by their position, of which something may have been changed

    def step_times(self) -> list[Int64s]:
        """Per rank how long each of its steps takes now."""
        pairs = zip(self.replay.step_times(self.weight), self.least, strict=True)
        return [np.maximum(times, least) for times, least in pairs]

    def edges(self, part_index: int, kinds: tuple[int, ...]) -> Int64s:
        """Dependencies of a rank, by its position."""
        first, last = self.replay.first_edge[part_index : part_index + 2]
        return np.flatnonzero(np.isin(self.replay.graph.kind[first:last], kinds)) + first

    def took(self, edges: Int64s) -> int:
        """Nanoseconds that dependencies take."""
        return int(np.clip(self.weight[edges], 0, None).sum())

    def scale(self, edges: Int64s, factor: float) -> int:
        """Let them take ``factor`` times as long; nanoseconds that they took."""
        before = self.took(edges)
        held = edges[self.weight[edges] > 0]
        self.weight[held] = np.rint(self.weight[held] * factor).astype(np.int64)
        return before

    def drop(self, edges: Int64s) -> None:
        """They no longer hold."""
        self.weight[edges] = _GONE

    def scale_work(self, part_index: int, slices: Int64s, factor: float, kinds: tuple[int, ...] = WORK) -> int:
        """Let slices on the device, or common calls, take ``factor`` times as long; nanoseconds that they took."""
        edges = self.edges(part_index, kinds)
        return self.scale(edges[np.isin(self.replay.graph.about[edges], slices)], factor)

    def scale_host(self, part_index: int, within: Mapping[int, Intervals], factor: float) -> int:
        """Let what threads did within some intervals take ``factor`` times as long; nanoseconds that it took."""
        changed = 0
        edges = self.edges(part_index, _HOST)
        thread = self.replay.graph.about[edges]
        for own, intervals in within.items():
            mine = edges[thread == own]
            covered = self.covered(part_index, mine, intervals)
            self.weight[mine] += np.rint(covered * (factor - 1)).astype(np.int64)
            changed += int(covered.sum())
        return changed

    def scale_delays(self, part_index: int, within: Intervals, factor: float) -> int:
        """The same with what device slices waited."""
        return self._scale_within(part_index, DELAYS, within, factor)

    def scale_handovers(self, part_index: int, within: Intervals, factor: float) -> int:
        """The same with what threads did after another one had let them go on."""
        return self._scale_within(part_index, (edge_kinds.HANDOFF, edge_kinds.QUEUE), within, factor)

    def _scale_within(self, part_index: int, kinds: tuple[int, ...], within: Intervals, factor: float) -> int:
        edges = self.edges(part_index, kinds)
        covered = self.covered(part_index, edges, within)
        self.weight[edges] += np.rint(covered * (factor - 1)).astype(np.int64)
        return int(covered.sum())

    def covered(self, part_index: int, edges: Int64s, within: Intervals) -> Int64s:
        """How much of what dependencies take lies within intervals of the rank's clock."""
        graph, shift = self.replay.graph, self.replay.shift[part_index]
        first, last = graph.time[graph.source[edges]] + shift, graph.time[graph.target[edges]] + shift
        inside = within.covered_within(first, last) if len(within.start) else np.zeros(len(edges), np.int64)
        return np.clip(np.minimum(inside, self.weight[edges]), 0, None)

    def transfers(self, part_index: int) -> dict[int, int]:
        """How long the slices of common calls of a rank take, as recorded, after the last member has come."""
        graph, edges = self.replay.graph, self.edges(part_index, (edge_kinds.MEMBERS,))
        return dict(zip(graph.about[edges].tolist(), graph.weight[edges].tolist(), strict=True))
