"""The slices and links of a rank, read once for all questions."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.foundation.rank_cache import cached_per_rank
from stepscope.store.run_store import RunStore

#: What most questions ask of slices; 69 bytes a row. Rarer columns are read from the store by those who need them.
COLUMNS: Final = (
    "slice",
    "track",
    "row",
    "parent",
    "start_ns",
    "dur_ns",
    "name",
    "kind",
    "step",
    "phase",
    "correlation",
    "stream",
    "type",
)
# A rank with more is not kept in memory: each question then reads from the files the rows that it asks for.
_MOST_ROWS: Final = 2_000_000


def slices_of(store: RunStore, rank: int) -> pl.LazyFrame:
    """The slices of a rank in the order of the store, with ``COLUMNS``."""
    rows = store.manifest.rows_of_rank("slices", rank)
    return _slices(store, rank).lazy() if rows <= _MOST_ROWS else store.scan("slices", [rank]).select(COLUMNS)


@cached_per_rank
def _slices(store: RunStore, rank: int) -> pl.DataFrame:
    return store.scan("slices", [rank]).select(COLUMNS).collect()


@cached_per_rank
def links_of(store: RunStore, rank: int) -> pl.DataFrame:
    """The arrows of a rank: kind, from_slice, to_slice."""
    wanted = ("kind", pl.col("from_slice", "to_slice").cast(pl.Int64))
    return store.scan("links", [rank]).select(wanted).collect()
