"""Calls at which ranks meet, as dependencies: nobody leaves before the last has come and the transfer is done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import NONE
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.graph import Edges
from stepscope.analysis.replay.nodes import Nodes
from stepscope.analysis.replay.rank_graph import RankGraph
from stepscope.arrays import Int64s


@dataclass(frozen=True)
class Members:
    """Calls and their members: who comes and leaves when. ``start`` and ``end`` are nodes of the rank's own graph."""

    call: Int64s
    part_index: Int64s
    slice: Int64s
    start: Int64s
    end: Int64s
    transfer: Int64s  # from the last arrival to the end
    time: Int64s  # per call, its last arrival

    @classmethod
    def of(cls, parts: list[RankGraph], shift: list[int], rows: pl.DataFrame) -> Members:
        index_of_rank = {part.rank: part_index for part_index, part in enumerate(parts)}
        columns = []
        for (rank,), own in rows.group_by("rank", maintain_order=True):
            part_index = index_of_rank[int(str(rank))]
            columns.append(_members_of(parts[part_index], part_index, shift[part_index], own))
        call, place_column, ids, start, end, arrival, ended = (
            np.concatenate(part) for part in zip(*columns, strict=True)
        )
        last = np.full(int(call.max(initial=0)) + 1, np.iinfo(np.int64).min, np.int64)
        np.maximum.at(last, call, arrival)
        count = np.bincount(call, minlength=len(last))
        # Clocks that differ more than a call lasts make it end before all are there: then it tells nothing.
        sound = (count[call] > 1) & (ended > last[call])
        count = np.bincount(call[sound], minlength=len(last))
        sound &= count[call] > 1
        kept, number = np.unique(call[sound], return_inverse=True)
        transfer = ended[sound] - last[call[sound]]
        return cls(number, place_column[sound], ids[sound], start[sound], end[sound], transfer, last[kept])

    def without_own_durations(self, part_index: int, part: RankGraph) -> Edges:
        """The dependencies of a rank without those that say how long its own part in a common call takes."""
        mine = self.part_index == part_index
        ends, ids = self.end[mine], self.slice[mine]
        edges = part.edges
        on_device = (edges.kind == edge_kinds.COMMUNICATION) & np.isin(edges.about, ids) & np.isin(edges.target, ends)
        waited = (edges.kind == edge_kinds.HOST) & np.isin(edges.target, ends)
        kept = ~on_device
        return Edges(
            edges.source[kept],
            edges.target[kept],
            np.where(waited, 0, edges.floor)[kept],
            edges.kind[kept],
            edges.about[kept],
        )

    def edges(self, node_of: list[Int64s], meeting: Int64s) -> Edges:
        """All come to the meeting, and leave it when the transfer is done."""
        start, end = np.empty(len(self.call), np.int64), np.empty(len(self.call), np.int64)
        for part_index, node in enumerate(node_of):
            mine = self.part_index == part_index
            start[mine], end[mine] = node[self.start[mine]], node[self.end[mine]]
        both = len(self.call)
        return Edges(
            source=np.concatenate((start, meeting[self.call])),
            target=np.concatenate((meeting[self.call], end)),
            floor=np.concatenate((np.zeros(both, np.int64), self.transfer)),
            kind=np.full(2 * both, edge_kinds.MEMBERS, np.int8),
            about=np.concatenate((self.slice, self.slice)),
        )


def _members_of(part: RankGraph, part_index: int, shift: int, rows: pl.DataFrame) -> tuple[Int64s, ...]:
    """Calls of one rank whose start and end are nodes: call, part, slice, start, end, arrival, ended."""
    call, ids = rows["call"].to_numpy(), rows["slice"].cast(pl.Int64).to_numpy()
    arrival, ended = rows["arrival_ns"].to_numpy(), rows["end_ns"].to_numpy()
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
    end[on_host], ended[on_host] = _released(part.nodes, thread, arrival[on_host], ended[on_host])
    exact = (part.nodes.time[start] == arrival) & (part.nodes.time[end] == ended) & (start != NONE)
    chosen = np.flatnonzero(exact)
    return (
        call[chosen],
        np.full(len(chosen), part_index, np.int64),
        ids[chosen],
        start[chosen],
        end[chosen],
        arrival[chosen] - shift,
        ended[chosen] - shift,
    )


def _released(nodes: Nodes, thread: Int64s, arrival: Int64s, ended: Int64s) -> tuple[Int64s, Int64s]:
    """Nodes and times at which the host goes on in its part of a call: behind its longest pause there.

    What it does between that and the end of the call, such as copying the result to its device, is its own work.
    """
    first, last = np.empty(len(thread), np.int64), np.empty(len(thread), np.int64)
    for own in np.unique(thread).tolist():
        mine, part = thread == own, nodes.of_thread(own)
        first[mine] = part.start + np.searchsorted(nodes.point_time[part], arrival[mine], side="right")
        last[mine] = part.start + np.searchsorted(nodes.point_time[part], ended[mine], side="right")
    pause = np.diff(nodes.point_time, prepend=nodes.time[0])
    point = np.array(
        [low + int(np.argmax(pause[low:high])) for low, high in zip(first.tolist(), last.tolist(), strict=True)],
        np.int64,
    )
    return nodes.point[point], nodes.point_time[point]
