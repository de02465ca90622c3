"""Python functions that the tool traced: one row each, from csv or from a table of the database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from stepscope.readers.files.exact_time import LARGEST_NS
from stepscope.readers.files.reading import Reading
from stepscope.readers.msmemscope.dump_file import TRACE_COLUMNS, rows


def functions(path: Path, first_row: int, reading: Reading) -> Iterator[pl.DataFrame]:
    """Batches of row, name, start, end, pid, tid; a time that was not recorded is null."""
    for batch in rows(path, TRACE_COLUMNS, reading):
        whole = [pl.lit("").alias(name) for name in ("start", "end", "pid", "tid") if name not in batch.columns]
        typed = batch.with_columns(whole).with_row_index("row", offset=first_row)
        first_row += batch.height
        yield typed.select(
            pl.col("row").cast(pl.Int64),
            pl.col("name").fill_null("").str.strip_chars(' \t\r"'),
            _moment("start"),
            _moment("end"),
            *(pl.col(name).str.strip_chars().cast(pl.Int64, strict=False).fill_null(-1) for name in ("pid", "tid")),
        )


def _moment(name: str) -> pl.Expr:
    time = pl.col(name).str.strip_chars().cast(pl.Int64, strict=False)
    return pl.when(time.is_between(1, LARGEST_NS)).then(time).alias(name)
