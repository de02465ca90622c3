"""How long each rank computed for its experts: between the call that brings tokens and the one that returns them."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.cluster.plan import plan_of
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.work import COMPUTE, work_of
from stepscope.store.run_store import RunStore

_EXCHANGE: Final = "all_to_all"
_DIMENSION: Final = "ep"


def expert_times(store: RunStore) -> pl.DataFrame:
    """``rank``, ``step`` and ``expert_ns``; empty where no group is known to spread experts.

    Exchanges of such a group come in pairs, in both directions: tokens go to their experts, and results back.
    """
    names = [name for group in plan_of(store).groups_of(_DIMENSION) for name in group.ids]
    calls = (
        store.scan("collectives")
        .with_columns(pl.col("group", "kind").cast(pl.String))
        .filter((pl.col("kind") == _EXCHANGE) & pl.col("group").is_in(names) & pl.col("step").is_not_null())
        .select("rank", "group", "step", "start_ns", "end_ns")
        .sort("rank", "group", "step", "start_ns")
        .collect()
    )
    number = pl.int_range(pl.len()).over("rank", "group", "step")
    next_start = pl.col("start_ns").shift(-1).over("rank", "group", "step")
    windows = calls.with_columns(number=number, next_start=next_start).filter(
        (pl.col("number") % 2 == 0) & pl.col("next_start").is_not_null()
    )
    parts = [_computing(store, int(rank), own) for (rank,), own in windows.group_by("rank", maintain_order=True)]
    empty = pl.DataFrame(schema={"rank": pl.Int32, "step": pl.Int64, "expert_ns": pl.Int64})
    return pl.concat(parts) if parts else empty


def _computing(store: RunStore, rank: int, windows: pl.DataFrame) -> pl.DataFrame:
    work = work_of(store, rank)
    computing = work.of(COMPUTE)
    intervals = union(work.start[computing], work.end[computing])
    inside = intervals.covered_within(windows["end_ns"].to_numpy(), windows["next_start"].to_numpy())
    return (
        windows.with_columns(expert_ns=pl.Series(inside))
        .group_by("rank", "step", maintain_order=True)
        .agg(pl.col("expert_ns").sum())
    )
