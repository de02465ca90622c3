"""Hardware counters of tasks, under the names and in the units of the vendor's tables of kernels."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.device import DeviceTasks
from stepscope.readers.ascend_db.joins import first_match
from stepscope.readers.ascend_db.strings import as_texts
from stepscope.readers.ascend_db.timeline import numbers

# The whole time of a core has another name in the tables of kernels.
_RENAMED: Final = {
    "aic_total_time": "aicore_time(us)",
    "aiv_total_time": "aiv_time(us)",
    "total_time": "aicore_time(us)",
}
_NS_PER_US: Final = 1000
_BLOCKS: Final = {"blockDim": "Block Dim", "mixBlockDim": "Mix Block Dim"}


def write_pmu(reading: DatabaseReading, device: DeviceTasks, slice_ids: Int64s) -> None:
    """Rows of ``pmu``, piece by piece: there are dozens of counters per task."""
    position = reading.timeline.position["TASK"]
    known = np.where(position == NONE, NULL, numbers(device.tasks["globalTaskId"]))
    lost = empty = 0
    for rows in reading.database.pieces("TASK_PMU_INFO", ["globalTaskId"], ["value"], ids=["name"]):
        task_row = first_match(known, numbers(rows["globalTaskId"]))
        metrics = as_texts(reading.strings.coded(rows["name"]))
        counters = rows.select("value").with_columns(
            metric=metrics.replace_strict(
                {name: metric_name(name) for name in metrics.drop_nulls().unique()},
                default=None,
                return_dtype=pl.String,
            ),
            is_time=metrics.str.ends_with("_time"),
            task_row=pl.Series(task_row),
        )
        lost += counters.filter(pl.col("task_row") == NONE).height
        counters = counters.filter(pl.col("task_row") != NONE)
        usable = counters.filter(pl.col("metric").is_not_null() & pl.col("value").is_finite())
        empty += counters.height - usable.height
        value = pl.when("is_time").then(pl.col("value") / _NS_PER_US).otherwise("value")
        reading.out.add(
            "pmu",
            usable.select(
                pl.Series("slice", slice_ids[position[usable["task_row"].to_numpy()]]), "metric", value.alias("value")
            ),
        )
    reading.note("db_rows_without_task", table="TASK_PMU_INFO", count=lost)
    reading.note("db_rows_empty", table="TASK_PMU_INFO", count=empty)
    for column, metric in _BLOCKS.items():
        number = device.compute.spread(numbers(device.compute.rows[column]))
        given = np.flatnonzero((number != NULL) & (position != NONE))
        frame = pl.DataFrame({"slice": slice_ids[position[given]], "value": number[given].astype(np.float64)})
        reading.out.add("pmu", frame.with_columns(metric=pl.lit(metric)).select("slice", "metric", "value"))


def write_sample_summary(reading: DatabaseReading) -> None:
    """``SAMPLE_PMU_SUMMARY``, sums per core, to ``reported``."""
    table = "SAMPLE_PMU_SUMMARY"
    rows = reading.database.frame(table, [], ["value"], ["deviceId", "coreId"], ["metric", "coreType"])
    named = rows.select(
        pl.lit(table).alias("file"),
        pl.lit(None, pl.Int64).alias("step"),
        pl.concat_str(
            as_texts(reading.strings.coded(rows["coreType"])),
            pl.format("core {}", "coreId"),
            separator=" ",
            ignore_nulls=True,
        ).alias("key"),
        as_texts(reading.strings.coded(rows["metric"])).alias("metric"),
        "value",
    )
    good = named.filter(pl.col("metric").is_not_null() & pl.col("value").is_finite())
    reading.note("db_rows_empty", table=table, count=rows.height - good.height)
    reading.out.add("reported", good)


def metric_name(name: str) -> str:
    """The name of a counter in the tables of kernels; times there are microseconds, in databases nanoseconds.

    >>> metric_name("aic_total_time"), metric_name("aiv_vec_time"), metric_name("aic_mac_ratio")
    ('aicore_time(us)', 'aiv_vec_time(us)', 'aic_mac_ratio')
    """
    return _RENAMED.get(name) or (f"{name}(us)" if name.endswith("_time") else name)
