"""How long each rank held up the others, step by step (docs/metrics/cluster.md)."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.plan import plan_of
from stepscope.arrays import Int32s, Int64s
from stepscope.store.run_store import RunStore

# So many calls of a rank may be under way at once: reductions of one backward pass on a few threads or streams.
_CALLS_AT_ONCE: Final = 8
_COLUMNS: Final = ("rank", "step", "arrival_ns", "end_ns", "late_ns")


def delays_of(among_peers: pl.DataFrame) -> pl.DataFrame:
    """``delay_ns`` of each rank and step, from calls of ranks that should be alike.

    A rank that is late for one call is also late for those that the others had begun meanwhile, such as the reductions
    of one backward pass. That is one delay: only what it is later still for the next call is a new one.
    """
    calls = among_peers.filter(pl.col("step").is_not_null()).sort("rank", "step", "arrival_ns", "call")
    new = pl.Series(_new_delays(*(calls[name].to_numpy() for name in _COLUMNS)), dtype=pl.Int64)
    return calls.select("rank", "step", delay_ns=new).group_by("rank", "step", maintain_order=True).agg(pl.all().sum())


def among_peers(store: RunStore, calls: pl.DataFrame) -> pl.DataFrame:
    """Calls of ranks that should be alike. Stages of a pipeline have work of their own: no lateness to speak of."""
    stages = pl.DataFrame(
        [(each.rank, each.pp) for each in plan_of(store).ranks],
        schema={"rank": pl.Int32, "pp": pl.Int32},
        orient="row",
    )
    one_stage = pl.col("pp").n_unique().over("call") == 1
    return calls.join(stages, on="rank", maintain_order="left").filter(one_stage).drop("pp")


def _new_delays(rank: Int32s, step: Int64s, arrival: Int64s, end: Int64s, late_ns: Int64s) -> Int64s:
    """How much later a rank came to each call than to calls still in progress; calls in order."""
    late, others_came = np.maximum(late_ns, 0), arrival - late_ns
    known = np.zeros(len(late), np.int64)  # how late the rank was for one that had not ended when the others came
    for calls_before in range(1, _CALLS_AT_ONCE + 1):
        earlier, later = slice(None, -calls_before), slice(calls_before, None)
        same = (rank[earlier] == rank[later]) & (step[earlier] == step[later])
        under_way = same & (end[earlier] > others_came[later])
        known[later] = np.maximum(known[later], np.where(under_way, late[earlier], 0))
    return np.maximum(late - known, 0)
