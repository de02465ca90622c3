"""A graph of moments and what each waits for: one engine for the critical path and for what would change it.

Nodes are moments in time order; node 0 is the beginning. An edge says that its target cannot come before its source
and a weight later. Weights are chosen so that the recorded times are exactly the earliest possible ones, so a longest
path is as long as the recorded time, and changed weights give the time that would have been.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.arrays import Bools, Int8s, Int32s, Int64s

_EDGES_AT_ONCE: Final = 1 << 16


@dataclass(frozen=True)
class Edges:
    """Dependencies: what must come before what, and the least time between them (``floor``)."""

    source: Int64s | Int32s
    target: Int64s | Int32s
    floor: Int64s
    kind: Int8s
    about: Int64s  # what the edge stands for; its meaning depends on the kind


def together(*parts: Edges) -> Edges:
    """Dependencies of several sets."""
    names = ("source", "target", "floor", "kind", "about")
    return Edges(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Graph:
    """Edges are sorted by target. They lead from lower to higher nodes, or ``in_time`` says in which order to go."""

    time: Int64s
    source: Int64s | Int32s
    target: Int64s | Int32s
    weight: Int64s
    kind: Int8s
    about: Int64s
    in_time: Int32s | None = None  # edges by the moment of their target

    def earliest(self, weight: Int64s | None = None) -> Int64s:
        """How long after the beginning each node can come, with these weights or the recorded ones."""
        weights = self.weight if weight is None else weight
        earliest = np.zeros(len(self.time), np.int64)
        reached = earliest.data  # as fast as a list of Python's integers, in a fifth of the memory
        for first in range(0, len(weights), _EDGES_AT_ONCE):  # as Python's integers they take ten times the memory
            part = (
                slice(first, first + _EDGES_AT_ONCE)
                if self.in_time is None
                else self.in_time[first : first + _EDGES_AT_ONCE]
            )
            edges = zip(self.source[part].tolist(), self.target[part].tolist(), weights[part].tolist(), strict=True)
            for source, target, least in edges:
                allowed = reached[source] + least
                if allowed > reached[target]:  # noqa: PLR1730  # a call of max() takes longer than all else here
                    reached[target] = allowed
        return earliest

    def longest_path(self, sink: int, weight: Int64s | None = None) -> Int64s:
        """Numbers of the edges of a longest path from the beginning to a node, first to last."""
        # By construction the recorded times are the earliest ones of the recorded weights.
        reached, weights = (
            (self.time - self.time[0], self.weight) if weight is None else (self.earliest(weight), weight)
        )
        binding = np.flatnonzero(reached[self.source] + weights == reached[self.target])
        before = np.full(len(self.time), -1, np.int64)
        before[self.target[binding][::-1]] = binding[::-1]
        edges, sources, path = before.tolist(), self.source.tolist(), []
        node = sink
        while node:
            edge = edges[node]
            path.append(edge)
            node = sources[edge]
        return np.array(path[::-1], np.int64)


def graph_of(time: Int64s, edges: Edges, *, unexplained: int) -> Graph:
    """The graph of some dependencies. Of all that lead to a node the one that allowed it last is what held it up: the
    time until the node, if there is some, is added to its weight. A node that waits for nothing waits for the
    beginning, by an edge of the kind ``unexplained``.

    >>> edges = Edges(*(np.array(part) for part in ([0, 1], [2, 2], [0, 0], [0, 0], [0, 0])))
    >>> made = graph_of(np.array([100, 130, 150]), edges, unexplained=9)
    >>> made.earliest().tolist(), made.weight.tolist()
    ([0, 30, 50], [30, 20, 0])
    """
    forward = edges.source < edges.target  # clocks that are not aligned may turn an edge around: it says nothing then
    made = weighed(time, chosen(edges, forward), range(1, len(time)), unexplained=unexplained)
    return Graph(time, made.source, made.target, made.floor, made.kind, made.about)


def chosen(edges: Edges, which: Bools) -> Edges:
    """Some of the dependencies."""
    names = ("source", "target", "floor", "kind", "about")
    return Edges(*(getattr(edges, name)[which] for name in names))


def weighed(time: Int64s, edges: Edges, nodes: range, *, unexplained: int) -> Edges:
    """All dependencies of some nodes, sorted by target, with weights in place of the least times: see ``graph_of``."""
    source, target = edges.source, edges.target
    reached = np.zeros(len(nodes), np.bool_)
    reached[target - nodes.start] = True
    orphans = (np.flatnonzero(~reached) + nodes.start).astype(target.dtype)
    between = time[target] - time[source]
    floor = np.concatenate((np.minimum(edges.floor, between), np.zeros(len(orphans), np.int64)))
    slack = np.concatenate((between, time[orphans] - time[0])) - floor
    target = np.concatenate((target, orphans))
    order = np.lexsort((slack, target))
    target, slack = target[order], slack[order]
    tightest = np.concatenate(([True], target[1:] != target[:-1])) if len(target) else np.empty(0, np.bool_)
    return Edges(
        np.concatenate((source, np.zeros(len(orphans), source.dtype)))[order],
        target,
        floor[order] + np.where(tightest, slack, 0),
        np.concatenate((edges.kind, np.full(len(orphans), unexplained, np.int8))).astype(np.int8)[order],
        np.concatenate((edges.about, np.full(len(orphans), -1, np.int64)))[order],
    )
