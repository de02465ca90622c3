"""Ranges of CUPTI's range profiler: hardware counters as arguments of an event become rows of ``pmu``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.readers.files.numbers import number
from stepscope.readers.trace_json.event_columns import Batch, EventColumns, arguments

CATEGORY: Final = "cuda_profiler_range"


def counters_of_ranges(batch: Batch, columns: EventColumns) -> pl.DataFrame:
    """Slice, metric and value of all numbers that the ranges of a batch carry."""
    codes = [code for code, text in enumerate(columns.categories.texts()) if (text or "").lower() == CATEGORY]
    rows: list[dict[str, Any]] = []
    for position in np.flatnonzero(np.isin(batch.category, codes)).tolist() if codes else ():
        for metric, value in arguments(batch.arguments[position]).items():
            parsed = number(value)
            if parsed is not None:
                rows.append({"slice": int(batch.index[position]), "metric": str(metric)[:200], "value": parsed})
    return pl.DataFrame(rows, schema={"slice": pl.UInt32, "metric": pl.String, "value": pl.Float64})
