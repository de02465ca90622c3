"""Sends paired with the receives of their peers, and which of the two waited (docs/metrics/cluster.md).

A transfer moves when both ends are there and ends for both, so the end that took longer waited for the other, as in a
collective call of two.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.cluster.calls.matched import with_waits
from stepscope.analysis.cluster.calls.recorded import recorded_calls
from stepscope.store.run_store import RunStore

_SENDS: Final = "send"
_RECEIVES: Final = "receive"
_PAIR: Final = ("group", "source", "target", "step", "number")


def paired_calls(store: RunStore, recorded: pl.LazyFrame | None = None) -> pl.DataFrame:
    """Rows as those of ``matched_calls``, two per pair; the n-th send to a rank belongs to its n-th receive."""
    calls = (
        (recorded_calls(store) if recorded is None else recorded)
        .with_columns(pl.col("kind").cast(pl.String), pl.col("group").cast(pl.String))
        .filter(pl.col("kind").is_in([_SENDS, _RECEIVES]) & pl.col("peer").is_not_null())
        .filter(pl.col("end_ns") > pl.col("start_ns"))
        .select("rank", "slice", "group", "seq", "kind", "step", "start_ns", "end_ns", "bytes", "stream", "peer")
        .collect()
        .sort("rank", "start_ns", "slice")
    )
    sends = pl.col("kind") == _SENDS
    calls = calls.with_columns(
        source=pl.when(sends).then("rank").otherwise("peer"), target=pl.when(sends).then("peer").otherwise("rank")
    )
    # Numbered within the step, so that a call that was cut off at the edge of the window shifts no later pair.
    calls = calls.with_columns(number=pl.int_range(pl.len()).over("rank", "kind", "group", "source", "target", "step"))
    calls = calls.filter((pl.len().over(_PAIR) == 2) & (pl.col("kind").n_unique().over(_PAIR) == 2))
    numbered = calls.with_columns(call=pl.struct(_PAIR).rank("dense").cast(pl.Int64))
    return with_waits(store, numbered.drop("source", "target", "number"))
