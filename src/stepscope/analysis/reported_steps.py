"""Steps as the vendor sums them up, for ranks of which nothing else is left (docs/metrics/steps.md)."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.store.run_store import RunStore

#: Our fields, and the vendor's names of the same numbers, in microseconds.
_FIELDS: Final = {
    "computing_us": "Computing",
    "communication_us": "Communication",
    "overlapped_us": "Overlapped",
    "exposed_communication_us": "Communication(Not Overlapped)",
    "collective_alone_us": "Communication(Not Overlapped and Exclude Receive)",
    "free_us": "Free",
    "stage_us": "Stage",
    "bubble_us": "Bubble",
    "preparing_us": "Preparing",
}
_NEEDED: Final = ("computing_us", "exposed_communication_us", "free_us")


def reported_steps(store: RunStore, rank: int) -> tuple[pl.DataFrame, str]:
    """One row per step with those fields of ``Step`` that the vendor tells, and the file that tells them.

    Its own identity: computing + communication that is not overlapped + free = the span of the step.
    """
    cells = (
        store.scan("reported", [rank])
        .filter(pl.col("key").cast(pl.String).fill_null("") == "", pl.col("metric").is_in(list(_FIELDS.values())))
        .select("step", pl.col("file", "metric").cast(pl.String), "value")
        .collect()
    )
    cells = cells.filter(pl.col("file") == pl.col("file").first()) if len(cells) else cells
    if cells.is_empty():
        return pl.DataFrame(), ""
    table = cells.with_columns(step=pl.col("step").fill_null(0)).pivot(
        "metric", index="step", values="value", aggregate_function="first"
    )
    told = {field: pl.col(name) for field, name in _FIELDS.items() if name in table.columns}
    if not set(_NEEDED) <= told.keys():
        return pl.DataFrame(), ""
    rows = table.select("step", **told).drop_nulls(list(_NEEDED)).sort("step")
    span = pl.sum_horizontal(*_NEEDED).round(3)
    rows = rows.with_columns(
        period_us=span, device_span_us=span, duration_us=span, idle_us=pl.col("free_us"), rank=pl.lit(rank, pl.Int32)
    )
    return rows, cells["file"][0]
