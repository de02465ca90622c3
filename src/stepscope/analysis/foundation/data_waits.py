"""Waiting of the device itself for a batch, where its queue was recorded."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.arrays import NONE
from stepscope.store.run_store import RunStore


@cached_summary_per_rank
def data_waits(store: RunStore, rank: int) -> pl.DataFrame:
    """Start, end and step of each wait."""
    end = pl.col("start_ns") + pl.col("dur_ns")
    waits = slices_of(store, rank).filter((pl.col("kind") == "wait") & (pl.col("phase") == "data"))
    return waits.select("start_ns", end.alias("end_ns"), pl.col("step").fill_null(NONE)).collect()


def waiting_for_data(store: RunStore, rank: int) -> Intervals:
    """When the device of a rank waited for a batch."""
    waits = data_waits(store, rank)
    return union(waits["start_ns"].to_numpy(), waits["end_ns"].to_numpy())
