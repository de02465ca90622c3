"""The calls of all ranks as a replay needs them: arrivals, the duration of each transfer, and which calls are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.plan import ParallelPlan
from stepscope.analysis.cluster.rank_chain import RankCalls
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore

_NO_STREAM: Final = -1
_COLUMNS: Final = ("rank", "call", "group", "kind", "arrival_ns", "end_ns", "took_ns", "bytes")


@dataclass(frozen=True)
class CallTimes:
    """``rows``: one per member of a call (rank, call, arrival_ns, end_ns, stream), sorted by rank; ``calls``: one each.

    ``operation`` of a call is its dimension and kind, such as ``tp all_reduce``; ``transfer`` is what the member took
    that came last, ``usual`` what calls of the same operation and size take in the middle.
    """

    rows: pl.DataFrame
    operation: pl.Series
    transfer: Int64s
    usual: Int64s

    def __len__(self) -> int:
        return len(self.transfer)

    def of_rank(self, rank: int) -> RankCalls:
        """The calls of one rank."""
        first, last = self.rows["rank"].search_sorted(rank, "left"), self.rows["rank"].search_sorted(rank, "right")
        own = self.rows[int(first) : int(last)]
        return RankCalls(*(own[name].to_numpy() for name in ("call", "arrival_ns", "end_ns", "stream")))


def call_times(store: RunStore, plan: ParallelPlan, matched: pl.DataFrame, paired: pl.DataFrame) -> CallTimes | None:
    """From matched calls and pairs of sends and receives; nothing where there are none."""
    collective, pairs = (
        frame.select(*_COLUMNS, pl.col("stream").fill_null(_NO_STREAM), pair=pl.lit(pair))
        for pair, frame in ((False, matched), (True, paired))
    )
    first = collective["call"].max() or 0  # both count from 1, possibly with gaps
    calls = pl.concat([collective, pairs.with_columns(pl.col("call") + first)])
    if calls.is_empty():
        return None
    calls = calls.with_columns(call=pl.col("call").rank("dense").cast(pl.Int64) - 1)
    dimension = pl.col("group").replace_strict(plan.dimension_of_group, default=None, return_dtype=pl.String)
    kind = pl.when("pair").then(pl.lit("transfer")).otherwise(pl.col("kind"))
    named = pl.when("pair").then(pl.lit("pp")).otherwise(dimension)
    each = (
        calls.group_by("call")
        .agg(
            transfer=pl.min("took_ns"),
            operation=pl.concat_str([named.first(), kind.first()], separator=" ", ignore_nulls=True),
            bytes=pl.max("bytes"),
        )
        .sort("call")
        .with_columns(usual=pl.col("transfer").median().over("operation", "bytes").round().cast(pl.Int64))
    )
    rows = calls.select("rank", "call", "arrival_ns", "end_ns", "stream").sort("rank", "arrival_ns")
    return CallTimes(rows, each["operation"], *(np.asarray(each[name].to_numpy()) for name in ("transfer", "usual")))
