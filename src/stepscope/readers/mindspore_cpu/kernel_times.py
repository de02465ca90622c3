"""Every execution of every CPU operator: ``cpu_op_execute_timestamp``, and the GPU's twin
``gpu_op_execute_timestamp``.

One line per operator: ``full name;label;start,duration[,thread] start,duration[,thread] …``. Starts are in ns since
1970; durations in ms on the CPU and in us on the GPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.readers.minddata.numbers import NS, scaled_column
from stepscope.readers.minddata.text_files import OnRead, lines
from stepscope.store.notes import Notes

_LINE: Final = r"^(?<name>.*);(?<label>[^;]*);(?<runs>[^;]*)$"
_RUN: Final = r"^(?<start>[^,]+),(?<dur>[^,]+)(?:,(?<thread>[^,]*))?$"


def read_kernel_times(path: Path, unit: int, notes: Notes, on_read: OnRead = None) -> pl.DataFrame:
    """Columns name, label, thread, start_ns and dur_ns, in file order; ``unit`` is that of the durations."""
    parts = []
    for piece in lines(path, notes, on_read):
        good = piece.str.contains(_LINE)
        notes.add("mindspore_rows_dropped", file=path.name, place="line without times", count=int((~good).sum()))
        operators = piece.filter(good).str.extract_groups(_LINE).struct.unnest()
        runs = operators.with_columns(run=pl.col("runs").str.strip_chars().str.split(" ")).drop("runs").explode("run")
        runs = runs.filter(pl.col("run") != "")
        read = runs["run"].str.extract_groups(_RUN).struct.unnest()
        start, dur = scaled_column(read["start"], NS), scaled_column(read["dur"], unit)
        found = runs.select("name", "label").with_columns(thread=read["thread"], start_ns=start, dur_ns=dur)
        whole = found.filter(pl.col("start_ns").is_not_null() & pl.col("dur_ns").is_not_null())
        dropped = found.height - whole.height
        notes.add("mindspore_rows_dropped", file=path.name, place="execution without times", count=dropped)
        parts.append(whole)
    schema = {"name": pl.String, "label": pl.String, "thread": pl.String, "start_ns": pl.Int64, "dur_ns": pl.Int64}
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)
