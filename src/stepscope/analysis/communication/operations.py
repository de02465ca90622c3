"""Communication calls by operation and by rank: how often, how long, how much, and what of it was waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.analysis.communication.call_times import CALLED, sum_us
from stepscope.analysis.communication.types import Group, Operation, RankTimes
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.facts.communication import communication_facts
from stepscope.typed import typed

_RECORDED: Final = ("transit", "wait", "sync", "idle", "reduce")


def operations_of(calls: pl.DataFrame, groups: Sequence[Group]) -> list[Operation]:
    """Rows of ``Operation``, the longest first."""
    timed = pl.col("bytes").is_not_null() & (pl.coalesce("moving", "took") > 0)
    skews = pl.col("skew_ns").filter(pl.col("call").is_not_null() & pl.col("call").is_first_distinct())
    rows = calls.group_by(CALLED, maintain_order=True).agg(
        ranks=pl.col("rank").n_unique(),
        count=pl.len(),
        mean_us=in_microseconds(pl.col("took").mean()),
        min_us=in_microseconds(pl.col("took").min()),
        p50_us=in_microseconds(pl.col("took").median()),
        p95_us=in_microseconds(pl.col("took").quantile(0.95, "linear")),
        max_us=in_microseconds(pl.col("took").max()),
        skew_us=in_microseconds(skews.mean()),
        max_skew_us=in_microseconds(skews.max()),
        algorithm_gb_per_s=pl.when(timed.any()).then(
            pl.col("bytes").filter(timed).sum() / pl.coalesce("moving", "took").filter(timed).sum()
        ),
        **_sums(),
        **{f"recorded_{part}_us": sum_us(f"{part}_ns") for part in _RECORDED},
    )
    sizes = pl.DataFrame(
        {"group": [each.group for each in groups], "members": [len(each.ranks) or None for each in groups]},
        schema={"group": pl.String, "members": pl.Int64},
    )
    rows = rows.join(sizes, on="group", how="left", maintain_order="left").with_columns(bus_gb_per_s=_bus_rate())
    rows = rows.sort(pl.col("total_us").fill_null(0), *CALLED, descending=[True, False, False, False])
    return typed(rows.select(Operation.__struct_fields__).to_dicts(), list[Operation])


def times_by_rank(calls: pl.DataFrame) -> list[RankTimes]:
    """Rows of ``RankTimes`` in the order of ranks."""
    rows = calls.group_by("rank").agg(count=pl.len(), **_sums()).sort("rank")
    return typed(rows.select(RankTimes.__struct_fields__).to_dicts(), list[RankTimes])


def _sums() -> dict[str, pl.Expr]:
    return {
        "total_us": sum_us("took"),
        "transit_us": sum_us("moving"),
        "wait_us": sum_us("waiting"),
        "overlapped_us": sum_us("overlapped_ns"),
        "bytes": pl.when(pl.col("bytes").is_not_null().any()).then(pl.col("bytes").sum()),
    }


def _bus_rate() -> pl.Expr:
    """What every member had to send over its link, as nccl-tests count it; the group's size must be known."""
    rounds = communication_facts().bus_rounds
    times = pl.col("kind").replace_strict(rounds, default=None, return_dtype=pl.Float64)
    members = pl.col("members")
    factor = pl.when(times.is_null()).then(1.0).otherwise(times * (members - 1) / members)
    return pl.col("algorithm_gb_per_s") * factor
