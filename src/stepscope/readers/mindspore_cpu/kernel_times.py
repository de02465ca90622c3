"""Every execution of every operator: ``cpu_op_execute_timestamp`` and its twin ``gpu_op_execute_timestamp``.

One line per operator: ``full name;label;start,duration[,thread] start,duration[,thread] …``. Starts are in ns since
1970; durations in ms on the CPU and in us on the GPU.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from stepscope.readers.files.numbers import NS, scaled_column
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import lines


def read_kernel_times(path: Path, unit: int, reading: Reading) -> pl.DataFrame:
    """Columns name, label, thread, start_ns and dur_ns, in file order; ``unit`` is that of the durations."""
    parts = []
    for piece in lines(path, reading):
        # One line holds all executions of an operator, megabytes of them: cut it by hand, not by a pattern.
        operators = pl.DataFrame({"cells": piece.str.split(";")})
        good = operators.filter(pl.col("cells").list.len() >= 3)
        dropped = operators.height - good.height
        reading.notes.add("mindspore_rows_dropped", file=path.name, place="line without times", count=dropped)
        runs = good.select(
            name=pl.col("cells").list.head(pl.col("cells").list.len() - 2).list.join(";"),
            label=pl.col("cells").list.get(-2),
            runs=pl.col("cells").list.last().str.strip_chars().str.split(" "),
        ).explode("runs")
        runs = runs.filter(pl.col("runs") != "")
        read = runs["runs"].str.split_exact(",", 2).struct.rename_fields(["start", "dur", "thread"]).struct.unnest()
        start, dur = scaled_column(read["start"], NS), scaled_column(read["dur"], unit)
        runs_ns = runs.select(pl.col("name", "label").cast(pl.Categorical)).with_columns(
            read["thread"].cast(pl.Categorical), start_ns=start, dur_ns=dur
        )
        whole = runs_ns.filter(pl.col("start_ns").is_not_null() & pl.col("dur_ns").is_not_null())
        dropped = runs_ns.height - whole.height
        reading.notes.add("mindspore_rows_dropped", file=path.name, place="execution without times", count=dropped)
        parts.append(whole)
    words = dict.fromkeys(("name", "label", "thread"), pl.Categorical())
    times = dict.fromkeys(("start_ns", "dur_ns"), pl.Int64())
    return pl.concat(parts) if parts else pl.DataFrame(schema={**words, **times})
