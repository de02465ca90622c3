"""What each call cost each of its members: waiting for the last one, and the transfer itself (docs/metrics/cluster.md).

A call moves data from when its last member came. What a member spends in it before that is no cost of communication.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.calls.matched import matched_calls
from stepscope.analysis.cluster.calls.paired import paired_calls
from stepscope.analysis.cluster.calls.unnamed import are_of_all_ranks
from stepscope.analysis.cluster.plan import ParallelPlan, plan_of
from stepscope.analysis.foundation.computing_time import computing_of
from stepscope.analysis.foundation.intervals import difference, union
from stepscope.store.run_store import RunStore

#: What is told of each call, besides names: there are millions of them.
_NUMBERS: Final = ("call", "rank", "slice", "peer", "step", "members", "complete", "bytes")
_TIMES: Final = ("arrival_ns", "begins", "end_ns", "wait_ns", "transfer_ns")
_NAMES: Final = ("group", "kind", "dimension")


def call_costs(
    store: RunStore, matched: pl.DataFrame | None = None, paired: pl.DataFrame | None = None
) -> pl.DataFrame:
    """One row per member of each matched call in a step, sends and receives included; who has matched them gives them.

    ``call`` numbers calls; ``complete`` are those all of whose members were captured. ``wait_ns`` and ``transfer_ns``
    are its two parts; ``exposed_wait_ns`` and ``exposed_transfer_ns`` what of them ran beside no compute of the same
    rank. ``peer`` is null but for pairs.
    """
    calls = matched_calls(store) if matched is None else matched
    pairs = paired_calls(store) if paired is None else paired
    pairs = pairs.with_columns(call=pl.col("call") + (calls["call"].max() or 0) + 1)
    every = (
        pl.concat([calls, pairs], how="diagonal_relaxed")
        .lazy()
        .filter(pl.col("step").is_not_null())
        .with_columns(begins=pl.col("arrival_ns") + pl.col("wait_ns"))
        .with_columns(transfer_ns=pl.col("end_ns") - pl.col("begins"))
        .join(_groups(store, calls).lazy(), on="group", how="left", maintain_order="left", nulls_equal=True)
        .with_columns(complete=pl.col("peer").is_not_null() | (pl.col("members") >= pl.col("size")).fill_null(False))
        .select(*_NUMBERS, *_TIMES, pl.col(_NAMES).cast(pl.Categorical))
        .sort("rank", "arrival_ns", "slice")
        .collect()
    )
    return _with_exposed(store, every)


def _groups(store: RunStore, calls: pl.DataFrame) -> pl.DataFrame:
    """``dimension`` and ``size`` of each group that calls were made in.

    Where its members are not stated, they are those seen in calls if the whole job was captured, else all ranks. If the
    number of ranks is not stated either, the size is unknown.
    """
    plan = plan_of(store)
    stated = {group: len(ranks) for group, ranks in _stated(store).iter_rows()}
    whole, known = len(store.ranks) >= plan.world_size, _world_is_known(store, plan)
    seen = calls.group_by("group").agg(seen=pl.max("members")).drop_nulls("group")
    rows = [
        (
            group,
            plan.dimension_of_group.get(group),
            stated.get(group) or ((members if whole else plan.world_size) if known else None),
        )
        for group, members in seen.iter_rows()
    ]
    unnamed = calls.filter(pl.col("group").is_null())
    if whole and known and are_of_all_ranks(unnamed, plan.world_size):
        rows.append((None, None, plan.world_size))
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
