"""Blocks of memory with their life, from allocations and frees."""

from __future__ import annotations

import polars as pl


def lives(events: pl.DataFrame) -> pl.DataFrame:
    """Pair each allocation with the free that follows at its address.

    ``events``: device, address, time_ns, seq, size (negative for a free), operator, perhaps stack; sorted by time.
    """
    here = pl.struct("device", "address")
    paired = events.with_columns(
        next_size=pl.col("size").shift(-1).over(here),
        next_ns=pl.col("time_ns").shift(-1).over(here),
        next_seq=pl.col("seq").shift(-1).over(here),
        last_size=pl.col("size").shift(1).over(here),
    )
    freed = pl.col("next_size") < 0
    born = paired.filter(pl.col("size") > 0).select(
        "device",
        "address",
        "operator",
        *(["stack"] if "stack" in events.columns else []),
        bytes="size",
        alloc_ns="time_ns",
        alloc_seq="seq",
        free_ns=pl.when(freed).then("next_ns"),
        free_seq=pl.when(freed).then("next_seq"),
        before_window=False,
        lost_free=(pl.col("next_size") > 0).fill_null(False),
    )
    unborn = paired.filter((pl.col("size") < 0) & ((pl.col("last_size") < 0) | pl.col("last_size").is_null())).select(
        "device",
        "address",
        bytes=-pl.col("size"),
        free_ns="time_ns",
        free_seq="seq",
        before_window=True,
        lost_free=False,
    )
    return pl.concat([born, unborn], how="diagonal")
