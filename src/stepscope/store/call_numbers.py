"""Which collective calls of different ranks are one call."""

from __future__ import annotations

import polars as pl


def with_call_numbers(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls (``rank, slice, group, kind, seq, step, start_ns``) with ``call``, the same number for those of one call.

    By the number that the file gives; else by order among the calls of the same kind in the same step.
    """
    group = ["group", "kind"]
    counted = pl.col("seq").is_not_null().all().over("group") & ~pl.struct("rank", *group, "seq").is_duplicated()
    order = pl.int_range(pl.len()).over(["rank", "step", *group])
    calls = calls.sort("rank", "start_ns", "slice").with_columns(
        number=pl.when(counted).then("seq").otherwise(order),
        # A sequence may count over steps; an order begins anew in each.
        part=pl.when(counted).then(None).otherwise("step"),
    )
    key = pl.struct([pl.col("group").cast(pl.String), "kind", "number", "part"])
    return calls.with_columns(call=key.rank("dense").cast(pl.Int64)).drop("number", "part")
