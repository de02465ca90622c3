"""What each call cost each of its members: waiting for the last one, and the transfer itself (docs/metrics/cluster.md).

A call moves data from when its last member came. What a member spends in it before that is no cost of communication.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.analysis.cluster.calls.unnamed import are_of_all_ranks
from stepscope.analysis.cluster.plan import ParallelPlan
from stepscope.analysis.foundation.computing_time import computing_of
from stepscope.analysis.foundation.intervals import difference, union
from stepscope.store.run_store import RunStore

_NUMBERS: Final = ("rank", "slice", "peer", "partner", "step", "members", "bytes", "across_stages")
_TIMES: Final = ("arrival_ns", "begins", "end_ns", "wait_ns", "transfer_ns")
_NAMES: Final = ("group", "kind")
_ORDER: Final = ("rank", "arrival_ns", "slice")


@dataclass(frozen=True)
class CallCosts:
    """One row per member of each matched call in a step, sends and receives included.

    ``complete`` are calls all of whose members were captured. ``wait_ns`` and ``transfer_ns`` are the two parts of a
    call; ``exposed_wait_ns`` and ``exposed_transfer_ns`` what of them ran beside no compute of the same rank. ``peer``
    is null but for pairs, ``partner`` is the other one in any call of two; ``across_stages`` are calls of ranks of
    different pipeline stages.
    """

    ranks: list[int]
    rows: SpilledRows
    of_two: SpilledRows  # complete calls of two, by the smaller of their ranks

    def per_rank(self, ask: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
        """What is asked of all calls, some ranks at a time; what it says of a rank needs the calls of that one only."""
        return pl.concat(ask(block) for block in _blocks(self.rows, self.ranks))

    def between_two(self, ask: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
        """The same of complete calls of two ranks: both rows of a call, and all calls of a pair, come together."""
        return pl.concat(ask(block) for block in _blocks(self.of_two, self.ranks))


class CallCostsBuilder:
    """Collects matched calls and pairs of sends and receives, piece by piece; each has all members of its calls."""

    def __init__(self, store: RunStore, plan: ParallelPlan, counted: pl.DataFrame | None = None) -> None:
        """``counted`` are the ranks and steps whose calls are wanted; all without it."""
        self._store, self._plan, self._counted = store, plan, counted
        self._rows = SpilledRows()
        self._seen: dict[str, int] = {}
        self._unnamed_are_of_all = True
        self._known = len(store.ranks) >= plan.world_size and _world_is_known(store, plan)

    def add(self, matched: pl.DataFrame, paired: pl.DataFrame) -> None:
        """The calls of a piece."""
        for group, members in matched.group_by("group").agg(pl.max("members")).drop_nulls("group").iter_rows():
            self._seen[group] = max(members, self._seen.get(group, 0))
        unnamed = matched.filter(pl.col("group").is_null())
        if self._known and len(unnamed):
            self._unnamed_are_of_all &= are_of_all_ranks(unnamed, self._plan.world_size)
        pairs = paired.with_columns(call=pl.col("call") + (matched["call"].max() or 0) + 1)
        stages = {each.rank: each.pp for each in self._plan.ranks}
        stage = pl.col("rank").replace_strict(stages, default=None, return_dtype=pl.Int32)
        partner = pl.when(pl.col("members") == 2).then(pl.col("rank").sum().over("call") - pl.col("rank"))
        rows = (
            pl.concat([matched, pairs], how="diagonal_relaxed")
            .lazy()
            .with_columns(
                begins=pl.col("arrival_ns") + pl.col("wait_ns"),
                across_stages=stage.n_unique().over("call") > 1,
                partner=pl.coalesce("peer", partner),
            )
            .with_columns(transfer_ns=pl.col("end_ns") - pl.col("begins"))
            .filter(pl.col("step").is_not_null())
        )
        if self._counted is not None:
            rows = rows.join(self._counted.lazy(), on=["rank", "step"], how="semi", maintain_order="left")
        self._rows.add(rows.select(*_NUMBERS, *_TIMES, *_NAMES).collect())

    def finished(self) -> CallCosts:
        """What all of them cost."""
        groups = self._groups().lazy()
        every, of_two = SpilledRows(), SpilledRows()
        known = (pl.col("members") >= pl.col("size")).fill_null(value=False)
        for block in _blocks(self._rows, self._store.ranks):
            calls = (
                block.lazy()
                .sort(_ORDER)
                .join(groups, on="group", how="left", maintain_order="left", nulls_equal=True)
                .with_columns(complete=pl.col("peer").is_not_null() | known)
                .drop("size")
                .collect()
            )
            calls = _with_exposed(self._store, calls)
            every.add(calls)
            two = calls.filter(pl.col("complete") & (pl.col("members") == 2))
            of_two.add(two.with_columns(member="rank", rank=pl.min_horizontal("rank", "partner").cast(pl.Int32)))
        return CallCosts(sorted(self._store.ranks), every, of_two)

    def _groups(self) -> pl.DataFrame:
        """``dimension`` and ``size`` of each group that calls were made in.

        Where its members are not stated, they are those seen in calls if the whole job was captured, else all ranks. If
        the number of ranks is not stated either, the size is unknown.
        """
        store, plan = self._store, self._plan
        stated = {group: len(ranks) for group, ranks in _stated(store).iter_rows()}
        whole, known = len(store.ranks) >= plan.world_size, _world_is_known(store, plan)
        rows = [
            (
                group,
                plan.dimension_of_group.get(group),
                stated.get(group) or ((members if whole else plan.world_size) if known else None),
            )
            for group, members in self._seen.items()
        ]
        if self._known and self._unnamed_are_of_all:
            rows.append((None, None, plan.world_size))  # type: ignore[arg-type]
        return pl.DataFrame(rows, schema={"group": pl.String, "dimension": pl.String, "size": pl.Int64}, orient="row")


def _world_is_known(store: RunStore, plan: ParallelPlan) -> bool:
    """Whether the number of ranks is stated; the highest captured rank is no substitute."""
    return plan.origin == "given" or store.scan("ranks").select(pl.col("world_size").max()).collect().item() is not None


def _stated(store: RunStore) -> pl.DataFrame:
    return store.scan("groups").select(pl.col("group").cast(pl.String), "ranks").drop_nulls().unique("group").collect()


def _with_exposed(store: RunStore, calls: pl.DataFrame) -> pl.DataFrame:
    """Calls, sorted by rank, with what of their parts ran beside no compute of the same rank."""
    rank, arrived, begins, end = (calls[name].to_numpy() for name in ("rank", "arrival_ns", "begins", "end_ns"))
    waits, transfers = begins - arrived, end - begins
    for one in np.unique(rank).tolist():
        own = slice(*np.searchsorted(rank, [one, one + 1]).tolist())
        computing = computing_of(store, one)
        waits[own] -= computing.covered_within(arrived[own], begins[own])
        transfers[own] -= computing.covered_within(begins[own], end[own])
    return calls.with_columns(exposed_wait_ns=pl.Series(waits), exposed_transfer_ns=pl.Series(transfers))


def exposed_transfers(store: RunStore, calls: pl.DataFrame) -> pl.DataFrame:
    """``exposed_ns`` of each rank and step: time in which one of its calls moved data and nothing computed.

    Calls that move data at the same time count once.
    """
    rows = []
    for (rank,), own in calls.group_by("rank", maintain_order=True):
        moving = union(own["begins"].to_numpy(), own["end_ns"].to_numpy())
        computing = computing_of(store, int(rank))
        spans = own.group_by("step").agg(pl.min("begins"), pl.max("end_ns")).sort("step")
        exposed = difference(moving, computing).covered_within(spans["begins"].to_numpy(), spans["end_ns"].to_numpy())
        rows.append(spans.select(pl.lit(rank, pl.Int32).alias("rank"), "step", exposed_ns=pl.Series(exposed)))
    empty = pl.DataFrame(schema={"rank": pl.Int32, "step": pl.Int64, "exposed_ns": pl.Int64})
    return pl.concat(rows) if rows else empty


def _blocks(rows: SpilledRows, ranks: list[int]) -> Iterator[pl.DataFrame]:
    """Rows of some ranks at a time; where there are none, one frame without rows."""
    return (rows.of_ranks(block) for block in rows.blocks(sorted(ranks)))
