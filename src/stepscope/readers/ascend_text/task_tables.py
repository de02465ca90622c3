"""Tables with one row per device task that name it by stream and task: cache use, time in the AI CPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from stepscope.arrays import NULL
from stepscope.readers.ascend.csv_table import CsvTable
from stepscope.readers.ascend_text.timeline import TraceTimeline
from stepscope.readers.files.reading import Reading


def write_task_table(
    paths: Sequence[Path],
    timeline: TraceTimeline,
    prefix: str,
    reading: Reading,
) -> None:
    """To ``pmu``, metric = prefix and column. A task number that comes back stands for the tasks in order of time."""
    table = CsvTable(paths, reading)
    tasks = _tasks(timeline)
    seen = pl.DataFrame(schema={"stream": pl.Int64, "task": pl.Int64, "before": pl.UInt32})
    keys = ["stream", "task"]
    for rows in table.pieces():
        frame = pl.DataFrame({"stream": rows.integer("Stream Id"), "task": rows.integer("Task Id")})
        rows.skip("Op Name", "Node", "Timestamp(us)", "Device_id")  # the slice has them
        frame = frame.join(seen, on=keys, how="left", maintain_order="left")
        number = pl.col("before").fill_null(0) + pl.int_range(pl.len(), dtype=pl.UInt32).over(keys)
        frame = frame.with_columns(number=number.cast(pl.Int64)).drop("before")
        counted = pl.concat([seen, frame.group_by(keys).agg(before=pl.len())])
        seen = counted.group_by(keys).agg(pl.col("before").sum())
        task_slices = frame.join(tasks, on=[*keys, "number"], how="left", maintain_order="left")["slice"]
        reading.notes.add("ascend_task_unmatched", file=table.name, count=task_slices.null_count())
        values = rows.numbers(task_slices)
        named = values.rename({header: f"{prefix} {header}" for header in values.columns if header != task_slices.name})
        reading.out.add(
            "pmu", named.unpivot(index=task_slices.name, variable_name="metric", value_name="value").drop_nulls()
        )


def _tasks(timeline: TraceTimeline) -> pl.DataFrame:
    """Device tasks by stream and task, numbered where both come back."""
    argument, slices = timeline.argument, timeline.slices
    known = (argument["stream"] != NULL) & (argument["task"] != NULL)
    tasks = np.flatnonzero(timeline.on_layer("hardware") & known & slices.is_kind("kernel"))
    tasks = tasks[np.argsort(slices.start[tasks], kind="stable")]
    frame = pl.DataFrame(
        {"stream": argument["stream"][tasks], "task": argument["task"][tasks], "slice": slices.id[tasks]}
    )
    return frame.with_columns(number=pl.int_range(pl.len(), dtype=pl.Int64).over("stream", "task"))
