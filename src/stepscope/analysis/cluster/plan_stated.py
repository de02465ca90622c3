"""What files state about the parallel plan: groups whose names tell their dimension, and coordinates of ranks."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from stepscope.analysis.cluster.plan_coordinates import DIMENSIONS
from stepscope.facts.parallel import parallel_facts
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class StatedGroup:
    """A group with known members; ``dimension`` is empty if it belongs to none, None if unknown."""

    group: str
    dimension: str | None
    ranks: list[int]


def group_rows(store: RunStore) -> list[StatedGroup]:
    """All groups of which the members are stated."""
    facts = parallel_facts()
    texts = [pl.col(name).cast(pl.String) for name in ("group", "dimension")]
    rows = store.scan("groups").select(*texts, "name", "ranks").collect()
    return [
        StatedGroup(group, dimension or facts.dimension(name), ranks)
        for group, dimension, name, ranks in rows.iter_rows()
        if group is not None and ranks
    ]


def stated_groups(store: RunStore) -> dict[str, list[list[int]]]:
    """Groups of more than one rank whose dimension is stated, by dimension.

    A dimension in which a rank is in two groups, such as data parallelism split twice, is left out.
    """
    by_dimension: dict[str, list[list[int]]] = {}
    for each in group_rows(store):
        if each.dimension and len(each.ranks) > 1:
            known = by_dimension.setdefault(each.dimension, [])
            if each.ranks not in known:
                known.append(each.ranks)
    return {name: groups for name, groups in by_dimension.items() if _once(groups)}


def stated_columns(ranks: pl.DataFrame) -> dict[str, dict[int, int]]:
    """Coordinates that the files of the ranks state, for dimensions that all of them state."""
    return {
        name: dict(ranks.select("rank", name).iter_rows())
        for name in DIMENSIONS
        if not ranks.is_empty() and ranks[name].null_count() == 0
    }


def _once(groups: list[list[int]]) -> bool:
    every = [rank for ranks in groups for rank in ranks]
    return len(set(every)) == len(every)
