"""The replay of a run: the graphs of its ranks, joined where they meet, and the steps that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.analysis.foundation.periods import Periods, periods_of
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.graph import Edges, Graph, chosen, together, weighed
from stepscope.analysis.replay.meeting import clock_shifts, meetings
from stepscope.analysis.replay.members import MemberCalls, Members
from stepscope.analysis.replay.rank_graph import RankGraph
from stepscope.analysis.replay.whole_rank import StepNodes, whole_rank
from stepscope.arrays import NONE, Int64s
from stepscope.facts.replay import replay_facts
from stepscope.store.freed_memory import give_back
from stepscope.store.run_store import RunStore

#: Of how many ranks the moments are counted before all of them are tried together.
_SAMPLE = 8
#: How many times too large a run must look by then.
_FAR_TOO_LARGE = 2


@dataclass(frozen=True)
class Replay:
    """Graphs of ranks in one. Node 0 is the beginning; those of a rank follow each other, meetings come last."""

    store: RunStore
    ranks: list[int]
    periods: list[Periods]
    graph: Graph
    first_node: list[int]  # per rank, and where the meetings begin
    first_edge: list[int]  # the same of what leads to them
    step_nodes: list[StepNodes]
    shift: list[int]  # per rank, what its clock is ahead of the graph's
    joined: bool  # whether ranks wait for each other in it
    launches_missing: bool  # whether of some rank nothing is known that launched its work

    def part(self, part_index: int) -> RankGraph:
        """The graph of a rank by itself. It may have to be made again: those of many ranks are not kept."""
        part = whole_rank(self.store, self.ranks[part_index])
        assert part is not None  # else it were no rank of the replay
        return part

    def step_times(self, weight: Int64s | None = None) -> list[Int64s]:
        """Per rank how long each of its steps takes with these weights, or as recorded."""
        # By construction the recorded moments are the earliest ones of the recorded weights.
        reached = self.graph.time - self.graph.time[0] if weight is None else self.graph.earliest(weight)
        parts = zip(self.step_nodes, pairwise(self.first_node), strict=True)
        return [nodes.times(reached[first:last]) for nodes, (first, last) in parts]


@dataclass
class _Part:
    """What is kept of the graph of a rank until all of them are known."""

    rank: int
    time: Int64s
    edges: Edges | None
    step_nodes: StepNodes
    calls: MemberCalls | None
    launches_missing: bool

    @classmethod
    def of(cls, store: RunStore, rank: int, rows: pl.DataFrame | None) -> _Part | None:
        part = whole_rank(store, rank)
        if part is None:
            return None
        small = {name: getattr(part.edges, name).astype(np.int32) for name in ("source", "target")}
        return cls(
            rank,
            part.nodes.time,
            replace(part.edges, **small),
            StepNodes.of(part, periods_of(store, rank)),
            None if rows is None else MemberCalls.of(part, rows),
            part.on_device and not part.launches_known,
        )

    def taken_edges(self) -> Edges:
        """The dependencies, which are not kept any longer: those of many ranks are most of what a replay holds."""
        edges, self.edges = self.edges, None
        assert edges is not None  # they are taken once
        return edges


def replay_of_rank(store: RunStore, rank: int) -> Replay | None:
    """The replay of a rank by itself; None where nothing of it can be replayed."""
    part = _Part.of(store, rank, None)
    if part is None:
        return None
    return _joined(store, [part], [int(part.time[0])], None)


def joined_replay(store: RunStore, ranks: list[int], matched: SpilledRows | None = None) -> Replay | None:
    """The replay of ranks that meet; None where they do not, or are too many to be held together.

    ``matched`` are the members of calls, of who has them already.
    """
    most = replay_facts().size.most_moments
    if len(ranks) < 2 or _looks_far_too_large(store, ranks, most):
        return None
    rows = meetings(store, ranks, matched)
    if rows.is_empty():
        return None
    give_back()
    rows_of = {int(str(rank)): own for (rank,), own in rows.partition_by("rank", as_dict=True).items()}
    parts = _parts(store, ranks, rows_of, most)
    if len(parts) < 2:
        return None
    begin = {part.rank: int(part.time[0]) for part in parts}
    shifts = clock_shifts(rows.filter(pl.col("rank").is_in(list(begin))), begin)
    shift = [shifts[part.rank] for part in parts]
    members = Members.of([part.calls for part in parts], shift)
    return _joined(store, parts, shift, members) if members is not None else None


def _parts(store: RunStore, ranks: list[int], rows: Mapping[int, pl.DataFrame], most: int) -> list[_Part]:
    """Those of all ranks; none where they have too many moments."""
    parts: list[_Part] = []
    moments = 0
    for rank in ranks:
        part = _Part.of(store, rank, rows.get(rank))
        if part is not None:
            parts.append(part)
            moments += len(part.time)
        if moments > most:
            return []
    return parts


def _looks_far_too_large(store: RunStore, ranks: list[int], most: int) -> bool:
    """Whether some ranks have so many moments that there is no need to make the graphs of all."""
    if len(ranks) <= _SAMPLE:
        return False
    sample = ranks[:: len(ranks) // _SAMPLE]
    moments = sum(len(part.nodes.time) for rank in sample if (part := whole_rank(store, rank)) is not None)
    return moments * len(ranks) > _FAR_TOO_LARGE * most * len(sample)


def _joined(store: RunStore, parts: list[_Part], shift: list[int], members: Members | None) -> Replay:
    times = [part.time - own for part, own in zip(parts, shift, strict=True)]
    meeting_time = members.time if members is not None else np.empty(0, np.int64)
    origin = min(int(time[0]) for time in times)
    time = np.concatenate(([origin], *times, meeting_time)).astype(np.int64)
    first_node = np.cumsum([1, *(len(part.time) for part in parts)]).tolist()
    position = None
    if members is not None:
        # In this order, what ranks do at one moment keeps its order, and they meet behind all that happens then.
        position = np.empty(len(time), np.int32)
        position[np.argsort(time, kind="stable")] = np.arange(len(time), dtype=np.int32)
    pieces = _Pieces()
    for part_index, part in enumerate(parts):
        first, last = first_node[part_index : part_index + 2]
        own = part.taken_edges()
        if members is not None:
            own = members.without_own_durations(part_index, own)
        own = replace(own, source=own.source + np.int32(first), target=own.target + np.int32(first))
        edges = [_origin_edge(first, int(time[first]) - origin), chosen(own, own.source < own.target)]
        if members is not None and position is not None:
            leaving = members.leaving(part_index, first, first_node[-1])
            edges.append(chosen(leaving, position[leaving.source] < position[leaving.target]))
        pieces.add(weighed(time, together(*edges), range(first, last), unexplained=edge_kinds.UNEXPLAINED))
    if members is not None and position is not None:
        coming = members.coming(first_node)
        coming = chosen(coming, position[coming.source] < position[coming.target])
        nodes = range(first_node[-1], len(time))
        pieces.add(weighed(time, coming, nodes, unexplained=edge_kinds.UNEXPLAINED))
    first_edge = np.cumsum([0, *pieces.sizes[: len(parts)]]).tolist()
    every = pieces.joined()
    in_time = None if position is None else np.argsort(position[every.target], kind="stable").astype(np.int32)
    return Replay(
        store=store,
        ranks=[part.rank for part in parts],
        periods=[periods_of(store, part.rank) for part in parts],
        graph=Graph(time, every.source, every.target, every.floor, every.kind, every.about, in_time),
        first_node=first_node,
        first_edge=first_edge,
        step_nodes=[part.step_nodes for part in parts],
        shift=shift,
        joined=members is not None,
        launches_missing=any(part.launches_missing for part in parts),
    )


class _Pieces:
    """Dependencies that come piece by piece. Joining them takes little more than all of them do."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._columns: dict[str, list[Any]] = {each.name: [] for each in fields(Edges)}

    def add(self, piece: Edges) -> None:
        self.sizes.append(len(piece.source))
        for name, column in self._columns.items():
            column.append(getattr(piece, name))

    def joined(self) -> Edges:
        """All of them; the pieces are used up, one column after the other."""
        return Edges(**{name: np.concatenate(self._columns.pop(name)) for name in list(self._columns)})


def _origin_edge(node: int, after: int) -> Edges:
    """A rank begins at its own time."""
    return Edges(
        source=np.zeros(1, np.int32),
        target=np.array([node], np.int32),
        floor=np.array([after], np.int64),
        kind=np.array([edge_kinds.ORIGIN], np.int8),
        about=np.array([NONE], np.int64),
    )
