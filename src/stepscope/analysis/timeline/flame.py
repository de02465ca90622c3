"""The slices of a window by who called whom: slices of one name inside one caller are one node, whenever they ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.timeline.parents import ParentColumns
from stepscope.analysis.timeline.rows import RowRange, chosen_rows, window_of
from stepscope.analysis.timeline.selection import Selection, select
from stepscope.analysis.timeline.view import TimelineView
from stepscope.arrays import NONE, Int64s


@dataclass(frozen=True)
class FlameNode:
    """``parent`` is the position of the caller in the list, null at the top. Times are the parts inside the window."""

    name: str
    parent: int | None
    depth: int
    count: int
    total_ns: int
    self_ns: int


@dataclass(frozen=True)
class Flame:
    """Callers come before whom they call. ``total_ns`` is of the outermost slices, all ranks together."""

    from_ns: int
    to_ns: int
    total_ns: int
    nodes: list[FlameNode]
    nodes_total: int


@dataclass
class _Node:
    name: str
    parent: int
    depth: int
    count: int = 0
    total: int = 0
    below: int = 0


def flame(view: TimelineView, from_ns: int, to_ns: int, rows: Sequence[RowRange], limit: int = 2_000) -> Flame:
    """The tree of a window; of more than ``limit`` nodes those that last longest, with all their callers."""
    nodes: list[_Node] = []
    known: dict[tuple[int, str], int] = {}
    for rank, numbers in chosen_rows(view, rows).items():
        window = window_of(rows, rank, from_ns, to_ns)
        _add(nodes, known, select(view.columns(rank), numbers, *window), view.parents(rank))
    kept = sorted(range(len(nodes)), key=lambda node: (-nodes[node].total, node))[:limit]
    # A caller lasts at least as long as whom it calls, except where threads overlap: callers are never left out.
    chosen = sorted(set(kept) | {above for node in kept for above in _callers(nodes, node)})
    index_of = {node: index for index, node in enumerate(chosen)}
    return Flame(
        from_ns=from_ns,
        to_ns=to_ns,
        total_ns=sum(node.total for node in nodes if node.parent == NONE),
        nodes=[_flame_node(nodes[node], index_of) for node in chosen],
        nodes_total=len(nodes),
    )


def _flame_node(node: _Node, index_of: dict[int, int]) -> FlameNode:
    parent = None if node.parent == NONE else index_of[node.parent]
    return FlameNode(node.name, parent, node.depth, node.count, node.total, max(0, node.total - node.below))


def _callers(nodes: list[_Node], node: int) -> list[int]:
    callers = []
    while (node := nodes[node].parent) != NONE:
        callers.append(node)
    return callers


def _add(nodes: list[_Node], known: dict[tuple[int, str], int], own: Selection, parents: ParentColumns) -> None:
    """Put the slices of a rank into the tree, from the outermost inwards."""
    caller = _nearest_chosen(own, parents)
    name, length = own.take(own.columns.name).astype(np.int64), own.end - own.start
    node_of = np.full(len(own), NONE, np.int64)
    level, depth = np.flatnonzero(caller == NONE), 0
    while len(level):
        above = np.where(caller[level] == NONE, NONE, node_of[caller[level]])
        keys, member = np.unique(np.stack((above, name[level])), axis=1, return_inverse=True)
        member = member.ravel()
        counts = np.bincount(member)
        totals = np.zeros(len(counts), np.int64)
        np.add.at(totals, member, length[level])
        numbers = np.empty(len(counts), np.int64)
        for key, (parent, code) in enumerate(keys.T.tolist()):
            text = str(own.columns.names[code])
            number = known.setdefault((parent, text), len(nodes))
            if number == len(nodes):
                nodes.append(_Node(text, parent, depth))
            nodes[number].count += int(counts[key])
            nodes[number].total += int(totals[key])
            if parent != NONE:
                nodes[parent].below += int(totals[key])
            numbers[key] = number
        node_of[level] = numbers[member]
        reached = np.zeros(len(own), np.bool_)
        reached[level] = True
        level, depth = np.flatnonzero((caller != NONE) & reached[caller]), depth + 1


def _nearest_chosen(own: Selection, parents: ParentColumns) -> Int64s:
    """For each chosen slice the innermost chosen one around it, as its index among the chosen; NONE at the top."""
    above = own.take(parents.parent).astype(np.int64)
    caller = np.full(len(own), NONE, np.int64)
    open_ = np.flatnonzero(above != NONE)
    while len(open_):
        index = own.indices(above[open_])
        caller[open_] = index
        open_ = open_[index == NONE]
        above[open_] = parents.parent[above[open_]]
        open_ = open_[above[open_] != NONE]
    return caller
