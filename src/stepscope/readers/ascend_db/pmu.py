"""Hardware counters of tasks, under the names and in the units of the vendor's tables of kernels."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.readers.ascend_db.device import DeviceTasks
from stepscope.readers.ascend_db.joins import first_match
from stepscope.readers.ascend_db.strings import Strings, as_texts
from stepscope.readers.ascend_db.timeline import numbers
from stepscope.readers.sqlite.database import Database
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

# The whole time of a core has another name in the tables of kernels.
_RENAMED: Final = {
    "aic_total_time": "aicore_time(us)",
    "aiv_total_time": "aiv_time(us)",
    "total_time": "aicore_time(us)",
}
_NS_PER_US: Final = 1000
_BLOCKS: Final = {"blockDim": "Block Dim", "mixBlockDim": "Mix Block Dim"}


def write_pmu(
    database: Database,
    strings: Strings,
    device: DeviceTasks,
    position: Int64s,
    slice_ids: Int64s,
    out: RankWriter,
    notes: Notes,
) -> None:
    """Rows of ``pmu``, piece by piece: there are dozens of counters per task."""
    known = np.where(position == NONE, NULL, numbers(device.tasks["globalTaskId"]))
    lost = empty = 0
    for rows in database.pieces("TASK_PMU_INFO", ["globalTaskId"], ["value"], ids=["name"]):
        task_row = first_match(known, numbers(rows["globalTaskId"]))
        metrics = as_texts(strings.coded(rows["name"]))
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
        out.add(
            "pmu",
            usable.select(
                pl.Series("slice", slice_ids[position[usable["task_row"].to_numpy()]]), "metric", value.alias("value")
            ),
        )
    notes.add("db_rows_without_task", file=database.file, table="TASK_PMU_INFO", count=lost)
    notes.add("db_rows_empty", file=database.file, table="TASK_PMU_INFO", count=empty)
    for column, metric in _BLOCKS.items():
        number = device.compute.spread(numbers(device.compute.rows[column]))
        given = np.flatnonzero((number != NULL) & (position != NONE))
        frame = pl.DataFrame({"slice": slice_ids[position[given]], "value": number[given].astype(np.float64)})
        out.add("pmu", frame.with_columns(metric=pl.lit(metric)).select("slice", "metric", "value"))


def write_sample_summary(database: Database, strings: Strings, out: RankWriter, notes: Notes) -> None:
    """``SAMPLE_PMU_SUMMARY``, sums per core, to ``reported``."""
    table = "SAMPLE_PMU_SUMMARY"
    rows = database.frame(table, [], ["value"], ["deviceId", "coreId"], ["metric", "coreType"])
    named = rows.select(
        pl.lit(table).alias("file"),
        pl.lit(None, pl.Int64).alias("step"),
        pl.concat_str(
            as_texts(strings.coded(rows["coreType"])),
            pl.format("core {}", "coreId"),
            separator=" ",
            ignore_nulls=True,
        ).alias("key"),
        as_texts(strings.coded(rows["metric"])).alias("metric"),
        "value",
    )
    good = named.filter(pl.col("metric").is_not_null() & pl.col("value").is_finite())
    notes.add("db_rows_empty", file=database.file, table=table, count=rows.height - good.height)
    out.add("reported", good)


def metric_name(name: str) -> str:
    """The name of a counter in the tables of kernels; times there are microseconds, in databases nanoseconds.

    >>> metric_name("aic_total_time"), metric_name("aiv_vec_time"), metric_name("aic_mac_ratio")
    ('aicore_time(us)', 'aiv_vec_time(us)', 'aic_mac_ratio')
    """
    return _RENAMED.get(name) or (f"{name}(us)" if name.endswith("_time") else name)
