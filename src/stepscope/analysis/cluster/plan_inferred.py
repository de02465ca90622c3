"""The parallel plan from what calls look like, where no file states it (docs/metrics/cluster.md).

Sends and receives run between neighbours of a pipeline; all-to-all runs between experts; tensor parallelism reduces
from the first layer on, and data parallelism only in the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.calls.matched import POINT_TO_POINT
from stepscope.analysis.cluster.plan_coordinates import Certainty
from stepscope.analysis.cluster.plan_stated import group_rows
from stepscope.facts.parallel import parallel_facts
from stepscope.store.run_store import RunStore

_ALL_TO_ALL: Final = "all_to_all"


@dataclass
class Inferred:
    """Groups by dimension and the ids that calls carry, how sure they are, and for each dimension why."""

    groups: dict[str, list[list[int]]] = field(default_factory=dict)
    ids: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    confidence: Certainty = "likely"

    def add(self, dimension: str, family: _Family, reason: str) -> None:
        """The groups of a dimension."""
        self.groups[dimension], self.ids[dimension], self.reasons[dimension] = family.groups, family.ids, reason


@dataclass(frozen=True)
class _Family:
    """Groups of one shape with one purpose: ``[0, 1]``, ``[2, 3]``, …"""

    ids: dict[str, list[int]]
    groups: list[list[int]]
    calls: float  # calls per rank and step
    bytes: float
    first_reduction: float  # as a share of a step without reductions; beyond 1 where it never reduces
    all_to_all: bool

    @property
    def size(self) -> int:
        return len(self.groups[0])


def inferred_groups(store: RunStore, world: int) -> Inferred:
    """Nothing where no call was captured."""
    inferred = Inferred()
    calls = _calls(store)
    members = _members(store, calls, world)
    pipelines = _pipelines(calls, members, world)
    if pipelines:
        inferred.groups["pp"], inferred.reasons["pp"] = pipelines, "neighbours"
    families = _families(calls, members)
    experts = [each for each in families if each.all_to_all]
    if experts:
        inferred.add("ep", max(experts, key=lambda each: each.calls), "all_to_all")
    others = [each for each in families if not each.all_to_all]
    # A group of all ranks beside smaller ones serves the job as a whole.
    smaller = [each for each in others if each.size < world]
    if smaller or pipelines:
        others = smaller
    limits = parallel_facts().calls
    early = [each for each in others if each.first_reduction < limits.first_reduction_share]
    tensor = max(early, key=lambda each: each.calls, default=None)
    if tensor is not None:
        inferred.add("tp", tensor, "early_reductions")
    _data_parallel(inferred, [each for each in others if each is not tensor])
    if None in members:  # calls without a group usually run between all ranks: that says nothing
        inferred.confidence = "guess"
    return inferred


def _data_parallel(inferred: Inferred, families: list[_Family]) -> None:
    """The groups that move most are data parallel; those inside them that call more often are context parallel."""
    data = max((each for each in families), key=lambda each: each.bytes, default=None)
    if data is None:
        return
    inferred.add("dp", data, "late_reductions")
    holding = {rank: number for number, ranks in enumerate(data.groups) for rank in ranks}
    for each in sorted(families, key=lambda each: -each.calls):
        inside = all(len({holding.get(rank, -1) for rank in ranks}) == 1 for ranks in each.groups)
        if each is not data and inside and each.calls > data.calls and each.size < data.size:
            inferred.add("cp", each, "inside_data_parallel")
            return


def _calls(store: RunStore) -> pl.DataFrame:
    """Calls of all ranks, with the span of their step."""
    span = store.scan("steps").select(
        "rank",
        "step",
        begins=pl.coalesce("device_start_ns", "host_start_ns"),
        ends=pl.coalesce("device_end_ns", "host_end_ns"),
    )
    return (
        store.scan("collectives")
        .select("rank", "step", "peer", "bytes", "start_ns", "end_ns", pl.col("group", "kind").cast(pl.String))
        .join(span, on=["rank", "step"], how="left")
        .collect()
    )


def first_reductions(calls: pl.DataFrame) -> pl.DataFrame:
    """By group: how much of the rest of a usual step of a usual rank lies before the end of its first reduction.

    Its end, because a host that runs ahead begins it early; the rest, because a slow network makes a step of nothing
    but reductions, all of which are early then.
    """
    span = pl.col("begins").is_not_null() & (pl.col("start_ns") >= pl.col("begins"))
    own = ["group", "rank", "step"]
    rows = calls.filter(pl.col("kind").is_in(parallel_facts().calls.reductions) & span).sort(*own, "start_ns")
    covered_until = pl.max_horizontal("start_ns", pl.col("end_ns").cum_max().shift(1).over(own))
    rows = rows.with_columns(
        first_end=pl.col("end_ns").min().over(own),
        covered=(pl.col("end_ns") - covered_until).clip(0),
        # Calls that overlap with the first one count up to its end.
        before=(pl.min_horizontal("end_ns", pl.col("end_ns").min().over(own)) - covered_until).clip(0),
    )
    in_steps = rows.group_by(own).agg(pl.first("begins", "ends", "first_end"), pl.sum("covered", "before"))
    rest = pl.col("ends") - pl.col("begins") - pl.col("covered")
    passed = pl.col("first_end") - pl.col("begins") - pl.col("before")
    shares = in_steps.filter(rest > 0).with_columns(first=passed / rest)
    return shares.group_by("group", "rank").agg(pl.median("first")).group_by("group").agg(pl.median("first"))


def _members(store: RunStore, calls: pl.DataFrame, world: int) -> dict[str | None, list[int]]:
    """Ranks of each group, as stated or seen; where a group has no name it is taken for the one of all ranks."""
    members: dict[str | None, list[int]] = {}
    for group, ranks in seen_members(store, calls).items():
        members[group] = ranks if group is not None else list(range(world))
    return members | {each.group: each.ranks for each in group_rows(store)}


def seen_members(store: RunStore, calls: pl.DataFrame) -> dict[str | None, list[int]]:
    """Ranks that called or were transferred to and from, by group: also those of which there are no files."""
    transfers = store.scan("transfers").select("rank", "peer", pl.col("group").cast(pl.String)).collect()
    ends = pl.concat(
        [calls.select("group", "rank"), transfers.select("group", "rank"), transfers.select("group", rank="peer")]
    )
    rows = ends.filter(pl.col("rank").is_not_null()).group_by("group").agg(pl.col("rank").unique().sort())
    return dict(rows.iter_rows())


def _pipelines(calls: pl.DataFrame, members: dict[str | None, list[int]], world: int) -> list[list[int]]:
    """Ranks that are joined by sends and receives; all pipelines of a job are of one length."""
    transfers = calls.filter(pl.col("kind").is_in(POINT_TO_POINT))
    known = transfers.filter(pl.col("peer").is_not_null())
    pairs: list[list[int]] = [list(pair) for pair in known.select("rank", "peer").unique().iter_rows()]
    if not pairs:
        groups = transfers["group"].unique().to_list()
        pairs = [members[group] for group in groups if group is not None and 1 < len(members.get(group, ())) < world]
    pipelines = _joined(pairs)
    is_even = len({len(ranks) for ranks in pipelines}) == 1
    return pipelines if is_even and not _are_replicas(pipelines, calls, members) else []


def _are_replicas(pipelines: list[list[int]], calls: pl.DataFrame, members: dict[str | None, list[int]]) -> bool:
    """Whether ranks that send each other something reduce far more together, as no stages of a pipeline do."""
    limits = parallel_facts().calls
    pipeline_of = {rank: number for number, ranks in enumerate(pipelines) for rank in ranks}
    across = [
        group
        for group, ranks in members.items()
        if len(own := [pipeline_of[rank] for rank in ranks if rank in pipeline_of]) > len(set(own))
    ]
    in_these = pl.col("group").is_in(across, nulls_equal=True)
    reduced = calls.filter(pl.col("kind").is_in(limits.reductions) & in_these)["bytes"].to_numpy()
    sent = calls.filter(pl.col("kind").is_in(POINT_TO_POINT))["bytes"]
    return not sent.has_nulls() and bool(sent.to_numpy().sum() < limits.least_sent_share * np.nansum(reduced))


def _joined(pairs: Iterable[list[int]]) -> list[list[int]]:
    """Connected ranks, in ascending order.

    >>> _joined([[0, 2], [1, 3], [2, 4]])
    [[0, 2, 4], [1, 3]]
    """
    leader: dict[int, int] = {}

    def root(rank: int) -> int:
        while leader.setdefault(rank, rank) != rank:
            leader[rank] = leader[leader[rank]]
            rank = leader[rank]
        return rank

    for ranks in pairs:
        for rank in ranks[1:]:
            leader[root(rank)] = root(ranks[0])
    joined: dict[int, list[int]] = {}
    for rank in sorted(leader):
        joined.setdefault(root(rank), []).append(rank)
    return sorted(joined.values())


def _families(calls: pl.DataFrame, members: dict[str | None, list[int]]) -> list[_Family]:
    in_group = calls.filter(~pl.col("kind").is_in(POINT_TO_POINT))
    steps = max(1, calls["step"].n_unique())
    rows = in_group.group_by("group").agg(
        calls=pl.len() / pl.col("rank").n_unique() / steps,
        bytes=pl.col("bytes").sum() / pl.col("rank").n_unique() / steps,
        all_to_all=(pl.col("kind") == _ALL_TO_ALL).any() & pl.col("group").first().is_not_null(),
    )
    rows = rows.join(first_reductions(in_group), on="group", how="left", nulls_equal=True)
    shapes: dict[tuple[bool, tuple[int, ...]], list[dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        ranks = members.get(row["group"], [])
        if len(ranks) > 1:
            shape = tuple(rank - ranks[0] for rank in ranks)
            shapes.setdefault((row["all_to_all"], shape), []).append({**row, "ranks": ranks})
    return [_family(own) for own in shapes.values()]


def _family(rows: list[dict[str, Any]]) -> _Family:
    ids = {row["group"]: row["ranks"] for row in rows if row["group"] is not None}
    return _Family(
        ids=ids,
        groups=sorted(list(ranks) for ranks in {tuple(row["ranks"]) for row in rows}),
        calls=max(row["calls"] for row in rows),
        bytes=max(row["bytes"] or 0 for row in rows),
        first_reduction=min((row["first"] for row in rows if row["first"] is not None), default=2.0),
        all_to_all=rows[0]["all_to_all"],
    )
