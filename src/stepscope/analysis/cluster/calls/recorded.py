"""The communication calls of a run, each with a number by which it can be found again."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.store.run_store import RunStore

_LARGEST: Final = 2**32 - 1


def recorded_calls(store: RunStore) -> pl.LazyFrame:
    """Rows of ``collectives``. Calls that files list without a place on the timeline get numbers that no slice has."""
    unused = (pl.lit(_LARGEST, pl.Int64) - pl.int_range(pl.len(), dtype=pl.Int64)).cast(pl.UInt32)
    return store.scan("collectives").with_columns(slice=pl.coalesce("slice", unused))
