"""A graph of moments and what each waits for: one engine for the critical path and for what would change it.

Nodes are moments in time order; node 0 is the beginning. An edge says that its target cannot come before its source
and a weight later. Weights are chosen so that the recorded times are exactly the earliest possible ones, so a longest
path is as long as the recorded time, and changed weights give the time that would have been.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.arrays import Int8s, Int64s

_EDGES_AT_ONCE: Final = 1 << 16


@dataclass(frozen=True)
class Edges:
    """Dependencies: what must come before what, and the least time between them (``floor``)."""

    source: Int64s
    target: Int64s
    floor: Int64s
    kind: Int8s
    about: Int64s  # what the edge stands for; its meaning depends on the kind


def together(*parts: Edges) -> Edges:
    """Dependencies of several sets."""
    names = ("source", "target", "floor", "kind", "about")
    return Edges(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Graph:
    """Edges are sorted by target, and lead from lower to higher nodes."""

    time: Int64s
    source: Int64s
    target: Int64s
    weight: Int64s
    kind: Int8s
    about: Int64s

    def earliest(self, weight: Int64s | None = None) -> Int64s:
        """How long after the beginning each node can come, with these weights or the recorded ones."""
        weights = self.weight if weight is None else weight
        reached = [0] * len(self.time)
        for first in range(0, len(weights), _EDGES_AT_ONCE):  # as Python's integers they take ten times the memory
            part = slice(first, first + _EDGES_AT_ONCE)
            edges = zip(self.source[part].tolist(), self.target[part].tolist(), weights[part].tolist(), strict=True)
            for source, target, least in edges:
                allowed = reached[source] + least
                if allowed > reached[target]:  # noqa: PLR1730  # a call of max() takes longer than all else here
                    reached[target] = allowed
        return np.array(reached, np.int64)

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
    source, target = edges.source[forward], edges.target[forward]
    floor = np.minimum(edges.floor[forward], time[target] - time[source])
    kind, about = edges.kind[forward], edges.about[forward]
    reached = np.zeros(len(time), np.bool_)
    reached[target] = True
    orphans = np.flatnonzero(~reached[1:]) + 1
    source = np.concatenate((source, np.zeros(len(orphans), np.int64)))
    target = np.concatenate((target, orphans))
    floor = np.concatenate((floor, np.zeros(len(orphans), np.int64)))
    kind = np.concatenate((kind, np.full(len(orphans), unexplained, np.int8)))
    about = np.concatenate((about, np.full(len(orphans), -1, np.int64)))
    slack = time[target] - time[source] - floor
    order = np.lexsort((slack, target))
    source, target, slack = source[order], target[order], slack[order]
    tightest = np.concatenate(([True], target[1:] != target[:-1])) if len(target) else np.empty(0, np.bool_)
    weight = floor[order] + np.where(tightest, slack, 0)
    return Graph(time, source, target, weight, kind[order].astype(np.int8), about[order])
