"""Memory of the CPU allocator over time: ``cpu_ms_memory_record``, one row per allocation or release."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.readers.files.numbers import NS, scaled_column
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import matched

_LINE: Final = r"^\s*(?<time_ns>\d+)\s*,\s*(?<allocated>\d+)\s*,\s*(?<reserved>\d+)\s*,\s*(?<active>\d+)\s*$"


def read_memory_record(path: Path, reading: Reading) -> None:
    """Rows of ``memory``. The file's first line names the columns; its order has never changed."""
    record = matched(path, _LINE, reading, skip=1)
    if record.is_empty():
        return
    rows = record.select(scaled_column(record[name], NS) for name in record.columns)
    whole = rows.drop_nulls()
    reading.notes.add("mindspore_rows_dropped", file=path.name, place="absurd number", count=rows.height - whole.height)
    reading.out.add(
        "memory",
        whole.sort("time_ns", maintain_order=True).with_columns(device=pl.lit("cpu"), component=pl.lit("MindSpore")),
    )
