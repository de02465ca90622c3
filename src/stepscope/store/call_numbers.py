"""Which collective calls of different ranks are one call."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.arrays import NULL


def with_call_numbers(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls (``rank, slice, group, kind, seq, step, start_ns``) with ``call``, the same number for those of one call.

    By the number that the file gives; else by order among the calls of the same kind in the same step.
    """
    group = ["group", "kind"]
    calls = calls.sort("rank", "start_ns", "slice")
    # As numbers: names of two million calls take long to compare.
    named = calls.select("rank", "seq", "step", *(_codes(calls[name]) for name in group))
    counted = pl.col("seq").is_not_null().all().over("group") & ~pl.struct("rank", *group, "seq").is_duplicated()
    order = pl.int_range(pl.len()).over(["rank", "step", *group])
    numbered = named.select(
        *group,
        number=pl.when(counted).then("seq").otherwise(order),
        # A sequence may count over steps; an order begins anew in each.
        part=pl.when(counted).then(None).otherwise("step"),
    )
    return calls.with_columns(call=_dense_ranks(numbered))


def _codes(names: pl.Series) -> pl.Series:
    """Numbers in the order of the names; 0 is none."""
    known = names.cast(pl.String).unique().drop_nulls().sort()
    codes = pl.Series(range(1, len(known) + 1), dtype=pl.UInt32)
    return names.cast(pl.String).replace_strict(known, codes, default=0, return_dtype=pl.UInt32)


def _dense_ranks(keys: pl.DataFrame) -> pl.Series:
    """The rank of each row among different rows, from 1."""
    columns = [column.cast(pl.Int64).fill_null(NULL).to_numpy() for column in keys]
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), np.bool_)
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(new) + 1
    return pl.Series(ranks)
