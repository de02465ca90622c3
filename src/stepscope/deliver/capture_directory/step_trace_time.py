"""``step_trace_time.csv``: the vendor's columns by the vendor's rules."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.vendor_step_trace import vendor_step_trace
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout import columns

_FIELDS = (
    "step",
    "computing_us",
    "communication_not_overlapped_us",
    "overlapped_us",
    "communication_us",
    "free_us",
    "stage_us",
    "bubble_us",
    "communication_not_overlapped_exclude_receive_us",
    "preparing_us",
)


def step_trace_time(data: RankData) -> pl.DataFrame | None:
    """The table, or None where no step has work."""
    rows = vendor_step_trace(data.store, ranks=[data.rank]).data
    if rows.is_empty():
        return None
    if data.steps:
        rows = rows.filter(pl.col("step").is_in(list(data.steps)))
    # Without marks there is one step over all, which the documents leave unnamed.
    step = pl.col("step").cast(pl.String) if data.has_steps else pl.lit("")
    names = dict(zip(columns.STEP_TRACE_TIME, _FIELDS, strict=True))
    return rows.select(**{name: step if field == "step" else pl.col(field).round(3) for name, field in names.items()})
