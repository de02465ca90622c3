"""The clocks of a run as they were estimated when it was stored: a line per host, or per rank with its own clock."""

from __future__ import annotations

from typing import Final

import msgspec
import polars as pl

from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds, PartsPerMillion
from stepscope.store.run_store import RunStore
from stepscope.typed import typed

# Offsets of ranks of one host differ by what their clock drifts between their first slices, and by rounding.
_SAME_CLOCK_NS: Final = 1000


class HostClock(msgspec.Struct, frozen=True):
    """``offset_us`` is what is added to times of these ranks at the start of the run."""

    host: str | None
    ranks: list[Identifier]
    state: str
    offset_us: Microseconds | None
    drift_ppm: PartsPerMillion | None
    error_us: Microseconds | None
    calls: Count | None


def clocks_of(store: RunStore) -> list[HostClock]:
    """Empty where there is only one clock."""
    ranks = store.scan("ranks").filter(pl.col("clock_state").is_not_null()).sort("rank").collect()
    since_first = pl.col("first_ns").min() - pl.col("first_ns")
    offset = pl.col("clock_offset_ns") + (since_first * pl.col("clock_drift_ppb") / 1e9).round().cast(pl.Int64)
    rows = ranks.with_columns(host=pl.col("host").cast(pl.String), offset=offset)
    spread = pl.col("offset").max().over("host") - pl.col("offset").min().over("host")
    alone = pl.col("host").is_null() | (spread.fill_null(0) > _SAME_CLOCK_NS)
    rows = (
        rows.with_columns(key=pl.when(alone).then(pl.col("rank")).otherwise(pl.col("rank").min().over("host")))
        .group_by("key", maintain_order=True)
        .agg(
            pl.col("host").first(),
            ranks=pl.col("rank"),
            state=pl.col("clock_state").cast(pl.String).first(),
            offset_us=in_microseconds(pl.col("offset").first()),
            drift_ppm=pl.col("clock_drift_ppb").first() / 1000,
            error_us=in_microseconds(pl.col("clock_error_ns").first()),
            calls=pl.col("clock_calls").first(),
        )
    )
    return typed(rows.select(HostClock.__struct_fields__).to_dicts(), list[HostClock])
