"""The replay of a run: the graphs of its ranks, joined where they meet, and the steps that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from stepscope.analysis.foundation.capture_limits import compute_is_hidden
from stepscope.analysis.foundation.host_activity import NONE
from stepscope.analysis.foundation.periods import NEVER, Periods, periods_of
from stepscope.analysis.foundation.work import COMPUTE, work_of
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.graph import Edges, Graph, graph_of, together
from stepscope.analysis.replay.meeting import clock_shifts, meetings
from stepscope.analysis.replay.members import Members
from stepscope.analysis.replay.rank_graph import RankGraph, rank_graph
from stepscope.arrays import Int64s
from stepscope.facts.replay import replay_facts
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class Replay:
    """Graphs of ranks in one. ``node_of`` are the nodes of each rank, ``part_of_node`` is NONE where ranks meet."""

    parts: list[RankGraph]
    periods: list[Periods]
    graph: Graph
    node_of: list[Int64s]
    part_of_node: Int64s
    shift: list[int]  # per rank, what its clock is ahead of the graph's
    joined: bool  # whether ranks wait for each other in it

    @cached_property
    def part_of_edge(self) -> Int64s:
        """The rank, by its position, to which an edge belongs; NONE for what leads to a meeting."""
        part: Int64s = self.part_of_node[self.graph.target]
        return part

    @cached_property
    def edges_of_part(self) -> list[Int64s]:
        """The edges of each rank, by its position, in ascending order."""
        order = np.argsort(self.part_of_edge, kind="stable")
        first = np.searchsorted(self.part_of_edge[order], np.arange(len(self.parts) + 1))
        return [order[low:high] for low, high in pairwise(first.tolist())]

    def step_times(self, weight: Int64s | None = None) -> list[Int64s]:
        """Per rank how long each of its steps takes with these weights, or as recorded."""
        reached = self.graph.earliest(weight)
        pairs = zip(self.parts, self.periods, self.node_of, strict=True)
        return [_step_times(part, periods, reached[node]) for part, periods, node in pairs]


def replay_of(store: RunStore, ranks: list[int]) -> Replay | None:
    """The replay of those of some ranks whose work was recorded; None if there is no such one."""
    parts, periods = [], []
    for rank in ranks:
        part = _whole_rank(store, rank)
        if part is not None:
            parts.append(part)
            periods.append(periods_of(store, rank))
    if not parts:
        return None
    small = sum(len(part.nodes.time) for part in parts) <= replay_facts().size.most_moments
    return _joined(store, parts, periods, meet=small and len(parts) > 1)


def _whole_rank(store: RunStore, rank: int) -> RankGraph | None:
    periods, work = periods_of(store, rank), work_of(store, rank)
    if not len(periods.step) or compute_is_hidden(store, rank) or not work.of(COMPUTE).any():
        return None
    window = (int(periods.start.min()), int(periods.end.max()))
    part = rank_graph(store, rank, work, window, np.concatenate((periods.start, periods.end)))
    return part if part.tells and window[0] < window[1] else None


def _joined(store: RunStore, parts: list[RankGraph], periods: list[Periods], *, meet: bool) -> Replay:
    begin = {part.rank: int(part.nodes.time[0]) for part in parts}
    rows = meetings(store, list(begin)) if meet else None
    if rows is not None and rows.is_empty():
        rows = None
    shifts = clock_shifts(rows, begin) if rows is not None else begin
    shift = [shifts[part.rank] for part in parts]
    members = Members.of(parts, shift, rows) if rows is not None else None
    times = [part.nodes.time - own for part, own in zip(parts, shift, strict=True)]
    meeting_time = members.time if members is not None else np.empty(0, np.int64)
    origin = min(int(time[0]) for time in times)
    # In this order, what ranks do at one moment keeps its order, and they meet behind all that happens at that moment.
    moments = np.concatenate(([origin], *times, meeting_time)).astype(np.int64)
    order = np.argsort(moments, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    first = np.cumsum([1, *(len(time) for time in times)])
    node_of = [number[low:high] for low, high in pairwise(first.tolist())]
    owner = np.concatenate(
        (
            [NONE],
            *(np.full(len(time), part_index) for part_index, time in enumerate(times)),
            np.full(len(meeting_time), NONE),
        )
    )
    edges = [_origin_edges(node_of, times, origin)]
    for part_index, part in enumerate(parts):
        own = part.edges if members is None else members.without_own_durations(part_index, part)
        edges.append(replace(own, source=node_of[part_index][own.source], target=node_of[part_index][own.target]))
    if members is not None:
        edges.append(members.edges(node_of, number[first[-1] :]))
    graph = graph_of(moments[order], together(*edges), unexplained=edge_kinds.UNEXPLAINED)
    return Replay(parts, periods, graph, node_of, owner[order].astype(np.int64), shift, joined=bool(len(meeting_time)))


def _origin_edges(node_of: list[Int64s], times: list[Int64s], origin: int) -> Edges:
    """Each rank begins at its own time."""
    count = len(node_of)
    return Edges(
        source=np.zeros(count, np.int64),
        target=np.array([node[0] for node in node_of], np.int64),
        floor=np.array([int(time[0]) - origin for time in times], np.int64),
        kind=np.full(count, edge_kinds.ORIGIN, np.int8),
        about=np.full(count, NONE, np.int64),
    )


def _step_times(part: RankGraph, periods: Periods, reached: Int64s) -> Int64s:
    """From the moments of a rank to its periods, by the same rule as the recorded ones (foundation/periods.py)."""
    if not part.on_device:
        start, end = part.loop_nodes(periods.start), part.loop_nodes(periods.end)
        lasted: Int64s = reached[end] - reached[start]
        return lasted
    own = np.full(len(periods.step), np.iinfo(np.int64).min, np.int64)
    device_step = periods.index_of(part.work.step[part.device.work])
    known = device_step >= 0
    np.maximum.at(own, device_step[known], reached[part.nodes.end[known]])
    rows = np.flatnonzero(part.work.on_host)
    step = periods.index_of(part.work.step[rows])
    inside = (step >= 0) & (part.work.end[rows] > part.nodes.time[0]) & (part.work.end[rows] <= part.nodes.time[-1])
    ends = part.nodes.at(part.work.thread[rows[inside]], part.work.end[rows[inside]])
    np.maximum.at(own, step[inside], reached[ends])
    stalls = np.flatnonzero(periods.work_end == NEVER)
    own[stalls] = reached[part.loop_nodes(periods.end[stalls])]
    own = np.maximum.accumulate(np.maximum(own, reached[0]))
    return np.diff(own, prepend=reached[0])
