"""Waits recorded together with the rank waited for, which need not have been captured itself.

The planes of a collective wait side by side, one for each peer. The call goes on when the last peer is there, so it
waited as long as it waited for that one (docs/metrics/cluster.md).
"""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.cluster.calls.recorded import recorded_calls
from stepscope.store.run_store import RunStore

_CALL: Final = ["rank", "group", "call", "step"]


def plane_waits(store: RunStore) -> pl.DataFrame:
    """``blames`` and ``wait_ns`` of each rank and call (``slice``) for which waits were recorded on planes."""
    named = (pl.col("kind").cast(pl.String) == "wait") & pl.col("peer").is_not_null() & pl.col("call").is_not_null()
    per_peer = (
        store.scan("transfers")
        .filter(named & (pl.col("peer") != pl.col("rank")))
        .with_columns(pl.col("group").cast(pl.String))
        .group_by(*_CALL, "peer")
        .agg(wait_ns=pl.col("time_ns").sum())
        .sort("wait_ns", "peer", descending=[True, False])
    )
    longest = per_peer.group_by(_CALL, maintain_order=True).agg(
        blames=pl.col("peer").first(), wait_ns=pl.max("wait_ns")
    )
    calls = recorded_calls(store).select(
        "rank",
        "slice",
        "step",
        "start_ns",
        "end_ns",
        pl.col("group").cast(pl.String),
        call=pl.col("name").cast(pl.String),
    )
    took = pl.col("end_ns") - pl.col("start_ns")
    return (
        calls.filter(took > 0)
        .join(longest, on=_CALL, nulls_equal=True)
        .select("rank", "slice", "step", "start_ns", "blames", wait_ns=pl.min_horizontal("wait_ns", took))
        .filter(pl.col("wait_ns") > 0)
        .sort("rank", "start_ns", "slice")
        .collect()
    )
