"""Calls at which ranks meet, as dependencies: nobody leaves before the last has come and the transfer is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.graph import Edges, chosen
from stepscope.analysis.replay.nodes import Nodes
from stepscope.analysis.replay.rank_graph import RankGraph
from stepscope.arrays import NONE, Bools, Int64s


@dataclass(frozen=True)
class MemberCalls:
    """Calls of one rank whose ``start`` and ``end`` are nodes of its graph; times are those of its own clock."""

    call: Int64s
    slice: Int64s
    start: Int64s
    end: Int64s
    arrival_ns: Int64s
    ended_ns: Int64s

    @classmethod
    def of(cls, part: RankGraph, rows: pl.DataFrame) -> MemberCalls:
        """From the rank's rows of ``meetings``."""
        call, ids = rows["call"].to_numpy(), rows["slice"].cast(pl.Int64).to_numpy()
        arrival, came, ended = (rows[name].to_numpy() for name in ("arrival_ns", "all_came_ns", "end_ns"))
        start, end = np.full(len(ids), NONE, np.int64), np.full(len(ids), NONE, np.int64)
        begin, last = int(part.nodes.time[0]), int(part.nodes.time[-1])
        inside = (arrival > begin) & (ended <= last)
        slices = part.work.slice[part.device.work]
        order = np.argsort(slices, kind="stable")
        if len(slices):
            position = order[np.minimum(np.searchsorted(slices[order], ids), len(slices) - 1)]
            there = inside & (slices[position] == ids)
            start[there], end[there] = part.nodes.start[position[there]], part.nodes.end[position[there]]
        row = part.host.row_of(ids)
        on_host = np.flatnonzero(inside & (start == NONE) & (row != NONE))
        thread = part.host.thread[row[on_host]]
        start[on_host] = part.nodes.at(thread, arrival[on_host])
        ended = ended.copy()
        end[on_host], ended[on_host] = _released(part.nodes, thread, came[on_host], ended[on_host])
        exact = (part.nodes.time[start] == arrival) & (part.nodes.time[end] == ended) & (start != NONE)
        return cls(*(column[exact] for column in (call, ids, start, end, arrival, ended)))


@dataclass(frozen=True)
class Members:
    """Calls and their members: who comes and leaves when. Rows of a rank follow each other."""

    call: Int64s
    part_index: Int64s
    slice: Int64s
    start: Int64s  # nodes of the rank's own graph
    end: Int64s
    transfer: Int64s  # from the last arrival to the end
    time: Int64s  # per call, its last arrival

    @classmethod
    def of(cls, parts: Sequence[MemberCalls | None], shift: Sequence[int]) -> Members | None:
        """From the calls of all ranks; ``shift`` is what their clocks are ahead. None where nobody meets."""
        known = [(index, calls) for index, calls in enumerate(parts) if calls is not None]
        if not known:
            return None
        part_index = np.concatenate([np.full(len(calls.call), index, np.int64) for index, calls in known])
        call, ids, start, end, arrival, ended = (
            np.concatenate([getattr(calls, name) for _, calls in known])
            for name in ("call", "slice", "start", "end", "arrival_ns", "ended_ns")
        )
        ahead = np.array(shift, np.int64)[part_index]
        arrival, ended = arrival - ahead, ended - ahead
        last = np.full(int(call.max(initial=0)) + 1, np.iinfo(np.int64).min, np.int64)
        np.maximum.at(last, call, arrival)
        count = np.bincount(call, minlength=len(last))
        # Clocks that differ more than a call lasts make it end before all are there: then it tells nothing.
        sound = (count[call] > 1) & (ended > last[call])
        count = np.bincount(call[sound], minlength=len(last))
        sound &= count[call] > 1
        if not sound.any():
            return None
        kept, number = np.unique(call[sound], return_inverse=True)
        transfer = ended[sound] - last[call[sound]]
        return cls(number, part_index[sound], ids[sound], start[sound], end[sound], transfer, last[kept])

    def without_own_durations(self, part_index: int, edges: Edges) -> Edges:
        """The dependencies of a rank without those that say how long its own part in a common call takes."""
        mine = self._rows(part_index)
        ends, ids = self.end[mine], self.slice[mine]
        last = int(edges.target.max(initial=0)) + 1
        is_end = np.zeros(max(last, int(ends.max(initial=0)) + 1), np.bool_)
        is_end[ends] = True
        of_end: Bools = is_end[edges.target]
        own = (edges.kind == edge_kinds.COMMUNICATION) & of_end
        own[own] = np.isin(edges.about[own], ids)
        waited = (edges.kind == edge_kinds.HOST) & of_end
        rest = Edges(edges.source, edges.target, np.where(waited, 0, edges.floor), edges.kind, edges.about)
        return chosen(rest, ~own)

    def coming(self, first_node: Sequence[int]) -> Edges:
        """All come to the meeting; ``first_node`` is that of each rank, then of the meetings."""
        first = np.array(first_node, np.int64)
        source = first[self.part_index] + self.start
        return self._edges(source, first[-1] + self.call, np.zeros(len(self.call), np.int64), self.slice)

    def leaving(self, part_index: int, first_node: int, first_meeting: int) -> Edges:
        """A rank leaves its meetings when the transfer is done."""
        mine = self._rows(part_index)
        source, target = first_meeting + self.call[mine], first_node + self.end[mine]
        return self._edges(source, target, self.transfer[mine], self.slice[mine])

    def _rows(self, part_index: int) -> Int64s:
        low, high = np.searchsorted(self.part_index, [part_index, part_index + 1]).tolist()
        return np.arange(low, high)

    def _edges(self, source: Int64s, target: Int64s, floor: Int64s, about: Int64s) -> Edges:
        kind = np.full(len(source), edge_kinds.MEMBERS, np.int8)
        return Edges(source.astype(np.int32), target.astype(np.int32), floor, kind, about)


def _released(nodes: Nodes, thread: Int64s, came: Int64s, ended: Int64s) -> tuple[Int64s, Int64s]:
    """Nodes and times at which the host goes on in its part of a call: behind its longest pause, once all have come.

    What it does between that and the end of the call, such as copying the result to its device, is its own work.
    """
    first, last = np.empty(len(thread), np.int64), np.empty(len(thread), np.int64)
    for own in np.unique(thread).tolist():
        mine, part = thread == own, nodes.of_thread(own)
        first[mine] = part.start + np.searchsorted(nodes.point_time[part], came[mine], side="right")
        last[mine] = part.start + np.searchsorted(nodes.point_time[part], ended[mine], side="right")
    pause = np.diff(nodes.point_time, prepend=nodes.time[0])
    point = np.array(
        [low + int(np.argmax(pause[low:high])) for low, high in zip(first.tolist(), last.tolist(), strict=True)],
        np.int64,
    )
    return nodes.point[point], nodes.point_time[point]
