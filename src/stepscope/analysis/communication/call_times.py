"""The calls asked for, each with what it took, waited, moved and ran beside computing of its rank."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.waiting.waits import Waits
from stepscope.analysis.foundation.computing_time import computing_of
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.facts.communication import communication_facts
from stepscope.store.run_store import RunStore

#: Calls with the same are one operation.
CALLED: Final = ["group", "kind", "name"]


def timed_calls(store: RunStore, calls: pl.DataFrame, waits: Waits, *, beside_computing: bool) -> pl.DataFrame:
    """Calls with ``took``, ``waiting``, ``moving`` and, if wanted, ``overlapped_ns``; what is not known is null."""
    calls = calls.join(_waited(waits), on=["rank", "slice"], how="left", maintain_order="left")
    calls = calls.with_columns(took=pl.col("end_ns") - pl.col("start_ns"))
    if beside_computing:
        calls = calls.with_columns(overlapped_ns=_overlapped(store, calls))
    known = pl.col("waited_ns").is_not_null()
    return calls.with_columns(
        moving=pl.when(known).then(pl.col("took") - pl.col("waited_ns")).otherwise("transit_ns"),
        waiting=pl.when(known).then("waited_ns").otherwise("wait_ns"),
    )


def operation_name(name: pl.Expr) -> pl.Expr:
    """The name of a call without its number, which HCCL writes at the end."""
    return name.cast(pl.String).str.replace(communication_facts().call_number, "")


def sum_us(name: str) -> pl.Expr:
    """Microseconds; null where nothing is known."""
    return pl.when(pl.col(name).is_not_null().any()).then(in_microseconds(pl.col(name).sum()))


def _waited(waits: Waits) -> pl.DataFrame:
    """``waited_ns`` of every call that was judged, 0 for those that did not wait."""
    waited = waits.rows.select("rank", "slice", waited_ns="wait_ns")
    return waits.known.join(waited, on=["rank", "slice"], how="left").with_columns(pl.col("waited_ns").fill_null(0))


def _overlapped(store: RunStore, calls: pl.DataFrame) -> pl.Series:
    """How much of each call ran beside compute of its rank."""
    covered = np.zeros(len(calls), np.int64)
    ranks = calls["rank"].to_numpy()
    start, end = calls["start_ns"].fill_null(0).to_numpy(), calls["end_ns"].fill_null(0).to_numpy()
    order = np.argsort(ranks, kind="stable")
    every_rank, first = np.unique(ranks[order], return_index=True)
    for rank, own in zip(every_rank.tolist(), np.split(order, first[1:]), strict=False):
        covered[own] = computing_of(store, rank).covered_within(start[own], end[own])
    return pl.Series(covered)
