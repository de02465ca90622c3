"""Waiting of the device itself for a batch, where its queue was recorded."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.foundation.host_activity import NONE
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.store.run_store import RunStore


@cached_summary_per_rank
def data_waits(store: RunStore, rank: int) -> pl.DataFrame:
    """Start, end and step of each wait."""
    end = pl.col("start_ns") + pl.col("dur_ns")
    waits = slices_of(store, rank).filter((pl.col("kind") == "wait") & (pl.col("phase") == "data"))
    return waits.select("start_ns", end.alias("end_ns"), pl.col("step").fill_null(NONE)).collect()
