"""Communication calls by group, kind and name: how often, how long, how much, and what of it was waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.cluster.waits import Waits
from stepscope.analysis.communication.types import Group, Operation
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.work import COMPUTE, work_of
from stepscope.facts.communication import communication_facts
from stepscope.store.run_store import RunStore

_BY: Final = ["group", "kind", "name"]
_RECORDED: Final = ("transit", "wait", "sync", "idle", "reduce")


def operations_of(store: RunStore, calls: pl.DataFrame, waits: Waits, groups: Sequence[Group]) -> list[Operation]:
    """Rows of ``Operation``, the longest first."""
    calls = _described(calls).join(_waited(waits), on=["rank", "slice"], how="left", maintain_order="left")
    calls = calls.with_columns(overlapped_ns=_overlapped(store, calls), took=pl.col("end_ns") - pl.col("start_ns"))
    known = pl.col("waited_ns").is_not_null()
    calls = calls.with_columns(
        moving=pl.when(known).then(pl.col("took") - pl.col("waited_ns")).otherwise("transit_ns"),
        waiting=pl.when(known).then("waited_ns").otherwise("wait_ns"),
    )
    timed = pl.col("bytes").is_not_null() & (pl.coalesce("moving", "took") > 0)
    rows = calls.group_by(_BY, maintain_order=True).agg(
        ranks=pl.col("rank").n_unique(),
        count=pl.len(),
        total_us=_sum("took"),
        mean_us=pl.col("took").mean() / 1000,
        transit_us=_sum("moving"),
        wait_us=_sum("waiting"),
        overlapped_us=_sum("overlapped_ns"),
        bytes=pl.when(pl.col("bytes").is_not_null().any()).then(pl.col("bytes").sum()),
        algorithm_gb_per_s=pl.when(timed.any()).then(
            pl.col("bytes").filter(timed).sum() / pl.coalesce("moving", "took").filter(timed).sum()
        ),
        **{f"recorded_{part}_us": _sum(f"{part}_ns") for part in _RECORDED},
    )
    sizes = pl.DataFrame(
        {"group": [each.group for each in groups], "members": [len(each.ranks) or None for each in groups]},
        schema={"group": pl.String, "members": pl.Int64},
    )
    rows = rows.join(sizes, on="group", how="left", maintain_order="left").with_columns(bus_gb_per_s=_bus_rate())
    rows = rows.sort(pl.col("total_us").fill_null(0), *_BY, descending=[True, False, False, False])
    return msgspec.convert(rows.select(Operation.__struct_fields__).to_dicts(), list[Operation])


def _waited(waits: Waits) -> pl.DataFrame:
    """``waited_ns`` of every call that was judged, 0 for those that did not wait."""
    waited = waits.rows.select("rank", "slice", waited_ns="wait_ns")
    return waits.known.join(waited, on=["rank", "slice"], how="left").with_columns(pl.col("waited_ns").fill_null(0))


def _described(calls: pl.DataFrame) -> pl.DataFrame:
    """Names without the number of the call, which HCCL writes at their end."""
    numbered = communication_facts().call_number
    return calls.with_columns(
        pl.col("name").cast(pl.String).str.replace(numbered, "").fill_null(pl.col("kind")).fill_null("")
    )


def _bus_rate() -> pl.Expr:
    """What every member had to send over its link, as nccl-tests count it; the group's size must be known."""
    rounds = communication_facts().bus_rounds
    times = pl.col("kind").replace_strict(rounds, default=None, return_dtype=pl.Float64)
    members = pl.col("members")
    factor = pl.when(times.is_null()).then(1.0).otherwise(times * (members - 1) / members)
    return pl.col("algorithm_gb_per_s") * factor


def _overlapped(store: RunStore, calls: pl.DataFrame) -> pl.Series:
    """How much of each call ran beside compute of its rank."""
    covered = np.zeros(len(calls), np.int64)
    ranks = calls["rank"].to_numpy()
    start, end = calls["start_ns"].fill_null(0).to_numpy(), calls["end_ns"].fill_null(0).to_numpy()
    for rank in np.unique(ranks).tolist():
        work = work_of(store, rank)
        computing = work.of(COMPUTE)
        own = ranks == rank
        covered[own] = union(work.start[computing], work.end[computing]).covered_within(start[own], end[own])
    return pl.Series(covered)


def _sum(name: str) -> pl.Expr:
    """Microseconds; null where nothing is known."""
    return pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum() / 1000)
