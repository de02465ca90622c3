"""The stages of a pipeline as a tree, and the way of the data through it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Tree:
    """Which stage takes whose output. A stage whose parent is unknown, or that follows itself, is a root."""

    parent: dict[int, int | None]
    children: dict[int, list[int]]
    depth: dict[int, int]

    @property
    def roots(self) -> list[int]:
        return [op for op, parent in self.parent.items() if parent is None]


@dataclass(frozen=True)
class Stage:
    """A stage with a queue behind it; ``inline`` are stages without one, which run in its threads."""

    op: int
    inline: list[int]


@dataclass(frozen=True)
class Way:
    """The stages from a reader to the last queue; ``after`` run in the thread that takes from that queue."""

    stages: list[Stage]
    after: list[int]


def tree_of(ops: pl.DataFrame) -> Tree:
    """The tree of all stages."""
    known = set(ops["op"].to_list())
    parent: dict[int, int | None] = {
        op: above if above in known else None for op, above in ops.select("op", "parent").iter_rows()
    }
    for op in list(parent):
        seen, ancestor = {op}, parent[op]
        while ancestor is not None and ancestor not in seen:
            seen.add(ancestor)
            ancestor = parent[ancestor]
        if ancestor is not None:  # a damaged file: stages that feed each other in a circle
            parent[op] = None
    children: dict[int, list[int]] = {op: [] for op in parent}
    for op, above in parent.items():
        if above is not None:
            children[above].append(op)
    depth: dict[int, int] = {}
    waiting = [(op, 0) for op, above in parent.items() if above is None]
    while waiting:
        op, level = waiting.pop()
        depth[op] = level
        waiting += [(child, level + 1) for child in children[op]]
    return Tree(parent, children, depth)


def way_of(tree: Tree, sinks: set[int], use: dict[int, float]) -> Way:
    """The way through the emptiest queues, ``use`` being the mean use of each queue that was looked at."""
    nearest = _nearest_use(tree, sinks, use)
    candidates = [op for op in tree.roots if op not in sinks or tree.children[op]]
    if not candidates:
        return Way([], [])
    # Loose stages, such as a device queue that no file connects, have nothing below them.
    path = [max(candidates, key=lambda op: _size(tree, op))]
    while tree.children[path[-1]]:
        path.append(min(tree.children[path[-1]], key=lambda op: nearest[op]))
    stages: list[Stage] = []
    inline: list[int] = []
    for op in reversed(path):
        if op in use and op not in sinks:
            stages.append(Stage(op, inline))
            inline = []
        elif op not in sinks:
            inline.append(op)
    return Way(stages, inline)


def _size(tree: Tree, root: int) -> int:
    count, waiting = 0, [root]
    while waiting:
        count += 1
        waiting += tree.children[waiting.pop()]
    return count


def _nearest_use(tree: Tree, sinks: set[int], use: dict[int, float]) -> dict[int, float]:
    """The use of the first queue at or below each stage; 1 where there is none."""
    nearest: dict[int, float] = {}
    for op in sorted(tree.depth, key=lambda op: -tree.depth[op]):
        below = min((nearest[child] for child in tree.children[op]), default=1.0)
        nearest[op] = use[op] if op in use and op not in sinks else below
    return nearest
