"""When a rank came to a collective call: not always when the call began (docs/metrics/cluster.md).

A collective on the host that takes its data from an accelerator begins by waiting for that accelerator. Until then its
own rank is late, however early its host began the call.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.foundation.blocking_calls import blocking_calls
from stepscope.analysis.foundation.host_activity import host_of
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.store.run_store import RunStore

_ON_HOST: Final = "ranks_with_calls_on_host"


def arrivals(store: RunStore, calls: pl.DataFrame) -> pl.DataFrame:
    """``arrival_ns`` of each rank and slice of calls."""
    on_host = _on_host(store)
    return pl.concat(
        _of_rank(store, int(rank), own) if rank in on_host else own.select("rank", "slice", arrival_ns="start_ns")
        for (rank,), own in calls.group_by("rank", maintain_order=True)
    )


def _on_host(store: RunStore) -> set[int]:
    """Ranks with calls that run on no stream of a device; looked for once."""
    if _ON_HOST not in store.derived:
        wanted = store.scan("collectives").select("rank", pl.col("slice").cast(pl.Int64))
        slices = store.scan("slices").filter(pl.col("stream").is_null()).select("rank", pl.col("slice").cast(pl.Int64))
        ranks = slices.join(wanted, on=["rank", "slice"], how="semi").select(pl.col("rank").unique())
        store.derived[_ON_HOST] = set(ranks.collect()["rank"])
    known: set[int] = store.derived[_ON_HOST]
    return known


def _of_rank(store: RunStore, rank: int, calls: pl.DataFrame) -> pl.DataFrame:
    began = calls.select("rank", "slice", arrival_ns="start_ns")
    track_of = slices_of(store, rank).select("slice", "track", "stream", "start_ns", "dur_ns")
    on_host = calls.lazy().select("slice").join(track_of.filter(pl.col("stream").is_null()), on="slice").collect()
    if on_host.is_empty():
        return began
    waits = track_of.filter(pl.col("slice").is_in(blocking_calls(host_of(store, rank)).slice.tolist())).select(
        "track", wait_start="start_ns", wait_end=pl.col("start_ns") + pl.col("dur_ns")
    )
    begins_inside = pl.col("wait_start").is_between("start_ns", pl.col("start_ns") + pl.col("dur_ns"))
    ready = (
        on_host.lazy().join(waits, on="track").filter(begins_inside).group_by("slice").agg(ready_ns=pl.max("wait_end"))
    ).collect()
    return began.join(ready, on="slice", how="left", maintain_order="left").select(
        "rank", "slice", arrival_ns=pl.max_horizontal("arrival_ns", "ready_ns")
    )
