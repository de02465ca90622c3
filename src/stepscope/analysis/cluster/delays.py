"""How long each rank held up the others, step by step (docs/metrics/cluster.md)."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.cluster.matched_calls import matched_calls
from stepscope.analysis.cluster.plan import plan_of
from stepscope.store.run_store import RunStore

# So many calls of a rank may be under way at once: reductions of one backward pass on a few threads or streams.
_CALLS_AT_ONCE: Final = 8


def delays(store: RunStore, matched: pl.DataFrame | None = None) -> pl.DataFrame:
    """``delay_ns`` of each rank and step in which it took part in matched calls.

    A rank that is late for one call is also late for those that the others had begun meanwhile, such as the reductions
    of one backward pass. That is one delay: only what it is later still for the next call is a new one.
    """
    late, others_came = pl.col("late_ns").clip(lower_bound=0), pl.col("arrival_ns") - pl.col("late_ns")
    calls = (
        _among_peers(store, matched_calls(store) if matched is None else matched)
        .filter(pl.col("step").is_not_null())
        .sort("rank", "step", "arrival_ns", "call")
        .with_columns(late=late, others_came=others_came)
    )
    earlier = [_still_open(calls_before) for calls_before in range(1, _CALLS_AT_ONCE + 1)]
    new = (pl.col("late") - pl.max_horizontal(earlier)).clip(lower_bound=0)
    return calls.with_columns(new=new).group_by("rank", "step", maintain_order=True).agg(delay_ns=pl.col("new").sum())


def _among_peers(store: RunStore, calls: pl.DataFrame) -> pl.DataFrame:
    """Calls of ranks that should be alike. Stages of a pipeline have work of their own: no lateness to speak of."""
    stages = pl.DataFrame(
        [(each.rank, each.pp) for each in plan_of(store).ranks],
        schema={"rank": pl.Int32, "pp": pl.Int32},
        orient="row",
    )
    one_stage = pl.col("pp").n_unique().over("call") == 1
    return calls.join(stages, on="rank", maintain_order="left").filter(one_stage).drop("pp")


def _still_open(calls_before: int) -> pl.Expr:
    """How late the rank was for an earlier call that had not ended when the others came to this one; else 0."""
    of_step = ["rank", "step"]
    late, end = (pl.col(name).shift(calls_before).over(of_step) for name in ("late", "end_ns"))
    return pl.when(end > pl.col("others_came")).then(late).otherwise(0)
