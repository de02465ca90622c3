"""The longest of some slices, as entries of an answer."""

from __future__ import annotations

from typing import TypeVar

import msgspec
import polars as pl

from stepscope.analysis.foundation.microseconds import in_microseconds

Entry = TypeVar("Entry", bound=msgspec.Struct)


def longest_slices(rows: pl.DataFrame, limit: int, entry: type[Entry]) -> list[Entry]:
    """The longest first, the earlier of equals first; ``entry`` has fields of the columns, and ``duration_us``."""
    chosen = rows.sort("dur_ns", "start_ns", descending=[True, False]).head(limit)
    chosen = chosen.with_columns(duration_us=in_microseconds(pl.col("dur_ns"))).select(entry.__struct_fields__)
    return [entry(**row) for row in chosen.iter_rows(named=True)]
