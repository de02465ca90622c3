"""The parallel plan: coordinates of ranks, and which ranks form the groups of each dimension.

What the user gave counts before what the files state, and that before what groups and calls let us infer
(docs/metrics/cluster.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final, TypeVar, get_args

import msgspec
import polars as pl

from stepscope.analysis.cluster.plan_coordinates import (
    DIMENSIONS,
    Certainty,
    Known,
    Origin,
    Source,
    from_groups,
    from_sizes,
)
from stepscope.analysis.cluster.plan_inferred import inferred_groups
from stepscope.analysis.cluster.plan_stated import StatedGroup, group_rows, stated_columns, stated_groups
from stepscope.analysis.foundation.units import Count, Identifier
from stepscope.store.given_plan import given_plan
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.texts import LANGUAGES, text

Key = TypeVar("Key", int, str)
_KEPT: Final = "parallel_plan"
_WHY: Final = {
    "neighbours": "plan_neighbours",
    "all_to_all": "plan_all_to_all",
    "early_reductions": "plan_early_reductions",
    "late_reductions": "plan_late_reductions",
    "inside_data_parallel": "plan_inside_data_parallel",
    "rest": "plan_rest",
}


class PlanDimension(msgspec.Struct, frozen=True):
    """How far a job is split in one dimension, and how that is known."""

    dimension: str
    size: Count
    origin: Origin
    confidence: Certainty
    reason: str


class PlanRank(msgspec.Struct, frozen=True, kw_only=True):
    """A captured rank; a coordinate is null where it is not known."""

    rank: Identifier
    host: str | None
    device_index: Identifier | None
    dp: Identifier | None
    tp: Identifier | None
    pp: Identifier | None
    ep: Identifier | None
    cp: Identifier | None

    def coordinate(self, dimension: str) -> int | None:
        """Its index in a dimension."""
        index: int | None = getattr(self, dimension)
        return index


class PlanGroup(msgspec.Struct, frozen=True):
    """Ranks that differ in one dimension only; ``ids`` are what calls carry, as far as that is known."""

    dimension: str
    ids: list[str]
    ranks: list[Identifier]


class ParallelPlan(msgspec.Struct, frozen=True, dict=True):
    """Dimensions in the order of :data:`DIMENSIONS`; ranks in ascending order, captured ones only."""

    world_size: int
    origin: Origin
    confidence: Certainty
    dimensions: list[PlanDimension]
    ranks: list[PlanRank]
    groups: list[PlanGroup]

    @cached_property
    def of_rank(self) -> Mapping[int, PlanRank]:
        """Captured ranks by number."""
        return {each.rank: each for each in self.ranks}

    def size(self, dimension: str) -> int:
        """1 where the job is not split, or nothing is known."""
        return next((each.size for each in self.dimensions if each.dimension == dimension), 1)

    def stage_of(self, rank: int) -> int | None:
        """The pipeline stage of a rank; None where it is not known."""
        return self.of_rank[rank].pp if rank in self.of_rank else None

    @cached_property
    def stages(self) -> dict[int, list[int]]:
        """Captured ranks of each pipeline stage; one stage where there is no pipeline."""
        return _grouped((each.pp or 0, each.rank) for each in self.ranks)

    @cached_property
    def hosts(self) -> dict[str, list[int]]:
        """Captured ranks of each host, as far as hosts are known."""
        return _grouped((each.host, each.rank) for each in self.ranks if each.host is not None)

    def lines(self, dimension: str) -> dict[int, list[int]]:
        """Captured ranks by their coordinate in a dimension, such as all of data-parallel index 0."""
        known = ((each.coordinate(dimension), each.rank) for each in self.ranks)
        return _grouped((index, rank) for index, rank in known if index is not None)

    def groups_of(self, dimension: str) -> list[PlanGroup]:
        """Groups of one dimension."""
        return [each for each in self.groups if each.dimension == dimension]

    @cached_property
    def dimension_of_group(self) -> dict[str, str]:
        """The dimension of each group that calls carry the id of."""
        return {name: each.dimension for each in self.groups for name in each.ids}

    def notes(self) -> list[Note]:
        """How sure an inferred plan is, and why."""
        return [
            Note(
                _WHY[each.reason],
                {
                    "dimension": each.dimension,
                    "size": each.size,
                    "confidence": each.confidence,
                    **{f"confidence_{lang}": text(f"plan_certainty.{each.confidence}", lang) for lang in LANGUAGES},
                },
            )
            for each in self.dimensions
            if each.origin == "inferred" and each.size > 1
        ]


def plan_of(store: RunStore) -> ParallelPlan:
    """The plan of a run; worked out once, and again when the user gives another one."""
    stamp = store.workspace.stamp() if store.workspace is not None else ""
    kept = store.derived.get(_KEPT)
    if kept is None or kept[0] != stamp:
        kept = store.derived[_KEPT] = (stamp, _work_out(store))
    plan: ParallelPlan = kept[1]
    return plan


def _work_out(store: RunStore) -> ParallelPlan:
    rows = (
        store.scan("ranks")
        .select("rank", "world_size", pl.col("host").cast(pl.String), "device_index", *DIMENSIONS)
        .unique("rank", keep="first", maintain_order=True)
        .sort("rank")
        .collect()
    )
    captured = rows["rank"].to_list()
    groups = group_rows(store)
    world = _world_size(store, rows, groups)
    known = _known(store, world, rows)
    coordinates = {rank: {name: known.coordinate(name, rank) for name in DIMENSIONS} for rank in captured}
    ranks = [
        PlanRank(rank=rank, host=host, device_index=device, **coordinates[rank])
        for rank, host, device in rows.select("rank", "host", "device_index").iter_rows()
    ]
    dimensions = [
        PlanDimension(name, known.sizes[name], *known.origin_of(name)) for name in DIMENSIONS if name in known.sizes
    ]
    ids = _ids(known, groups)
    return ParallelPlan(
        world_size=world,
        # A plan is as sure as the least sure of its dimensions.
        origin=max((each.origin for each in dimensions), key=get_args(Origin).index, default="unknown"),
        confidence=max((each.confidence for each in dimensions), key=get_args(Certainty).index, default="unknown"),
        dimensions=dimensions,
        ranks=ranks,
        groups=[
            PlanGroup(name, ids.get((name, frozenset(ranks)), []), ranks)
            for name in DIMENSIONS
            for ranks in known.groups(name)
        ],
    )


def _world_size(store: RunStore, rows: pl.DataFrame, groups: list[StatedGroup]) -> int:
    """As stated, else the number of ranks that any file mentions."""
    stated = rows["world_size"].max()
    if isinstance(stated, int):
        return stated
    transfers = store.scan("transfers").select(last=pl.max_horizontal(pl.max("rank"), pl.max("peer"))).collect()
    heard_of = [*rows["rank"], *transfers["last"].drop_nulls(), *(rank for each in groups for rank in each.ranks)]
    return 1 + max(heard_of, default=-1)


def _known(store: RunStore, world: int, rows: pl.DataFrame) -> Known:
    given = given_plan(store.workspace)
    if given is not None and given.sizes:
        return from_sizes(given.sizes, given.order)
    if given is not None:
        return from_groups(given.groups, {}, world, ("given", "given", "given"))
    if world == 1:
        return from_groups(
            {}, {name: {rows["rank"][0]: 0} for name in DIMENSIONS}, world, ("stated", "stated", "one_rank")
        )
    stated, columns = stated_groups(store), stated_columns(rows)
    if stated or columns:
        return from_groups(stated, columns, world, ("stated", "stated", "stated"))
    inferred = inferred_groups(store, world)
    source: Source = ("inferred", inferred.confidence, "calls")
    known = from_groups(inferred.groups, {}, world, source, inferred.reasons)
    known.ids = inferred.ids
    return known


def _ids(known: Known, groups: list[StatedGroup]) -> dict[tuple[str, frozenset[int]], list[str]]:
    """Ids of groups by dimension and members."""
    by_members: dict[tuple[str, frozenset[int]], list[str]] = {}
    stated = [(each.dimension, each.group, each.ranks) for each in groups if each.dimension]
    inferred = [(name, group, ranks) for name, own in known.ids.items() for group, ranks in own.items()]
    for name, group, ranks in [*stated, *inferred]:
        own = by_members.setdefault((name, frozenset(ranks)), [])
        if group not in own:
            own.append(group)
    return by_members


def _grouped(pairs: Iterable[tuple[Key, int]]) -> dict[Key, list[int]]:
    by_key: dict[Key, list[int]] = {}
    for key, rank in pairs:
        by_key.setdefault(key, []).append(rank)
    return dict(sorted(by_key.items()))
