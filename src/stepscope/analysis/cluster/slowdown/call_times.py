"""The calls of all ranks as a replay needs them: arrivals, the duration of each transfer, and which calls are alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.analysis.cluster.plan import ParallelPlan
from stepscope.analysis.cluster.slowdown.rank_chain import RankCalls
from stepscope.arrays import Int64s

_NO_STREAM: Final = -1
_COLUMNS: Final = ("rank", "slice", "call", "group", "kind", "arrival_ns", "end_ns", "took_ns", "bytes")
_OF_CHAIN: Final = ("call", "arrival_ns", "end_ns", "stream")


@dataclass(frozen=True)
class CallTimes:
    """``rows``: one per member of a call (rank, slice, call, arrival_ns, end_ns, stream).

    ``operation`` of a call is its dimension and kind, such as ``tp all_reduce``; ``transfer`` is what the member took
    that came last, ``usual`` what calls of the same operation and size take in the middle.
    """

    rows: SpilledRows
    operation: pl.Series
    transfer: Int64s
    usual: Int64s

    def __len__(self) -> int:
        return len(self.transfer)


def chain_calls(own: pl.DataFrame) -> RankCalls:
    """The calls of one rank, from its rows."""
    own = own.sort("arrival_ns", "call")
    return RankCalls(*(own[name].to_numpy() for name in _OF_CHAIN))


@dataclass
class CallTimesBuilder:
    """Collects matched calls and pairs of sends and receives, piece by piece."""

    plan: ParallelPlan
    rows: SpilledRows = field(default_factory=SpilledRows)
    _calls: int = 0
    _each: list[pl.DataFrame] = field(default_factory=list)

    def add(self, matched: pl.DataFrame, paired: pl.DataFrame) -> None:
        """The calls of a piece."""
        collective, pairs = (
            frame.select(*_COLUMNS, pl.col("stream").fill_null(_NO_STREAM), pair=pl.lit(pair))
            for pair, frame in ((False, matched), (True, paired))
        )
        first = collective["call"].max() or 0  # both count from 1, possibly with gaps
        calls = pl.concat([collective, pairs.with_columns(pl.col("call") + first)])
        calls = calls.with_columns(call=pl.col("call").rank("dense").cast(pl.Int64) - 1)
        dimension = pl.col("group").replace_strict(self.plan.dimension_of_group, default=None, return_dtype=pl.String)
        kind = pl.when("pair").then(pl.lit("transfer")).otherwise(pl.col("kind"))
        named = pl.when("pair").then(pl.lit("pp")).otherwise(dimension)
        operation = pl.concat_str([named.first(), kind.first()], separator=" ", ignore_nulls=True)
        each = calls.group_by("call").agg(
            transfer=pl.min("took_ns"), operation=operation.cast(pl.Categorical), bytes=pl.max("bytes")
        )
        self._each.append(each.sort("call").drop("call"))
        self.rows.add(calls.select("rank", "slice", *_OF_CHAIN).with_columns(pl.col("call") + self._calls))
        self._calls += each.height

    def finished(self) -> CallTimes | None:
        """Nothing where there are no calls."""
        if not self._calls:
            return None
        usual = pl.col("transfer").median().over("operation", "bytes").round().cast(pl.Int64)
        each = pl.concat(self._each).select("operation", "transfer", usual=usual)
        return CallTimes(
            self.rows, each["operation"], *(np.asarray(each[name].to_numpy()) for name in ("transfer", "usual"))
        )
