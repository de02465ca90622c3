"""Tables that the vendor computed itself: kept as they are, to stand beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from stepscope.facts.ascend import ascend_facts
from stepscope.readers.ascend.csv_table import CsvTable, Rows
from stepscope.readers.ascend_text.counters import CounterSeries
from stepscope.readers.files.reading import Reading
from stepscope.store.rank_writer import RankWriter

OnRead = Callable[[int], None] | None

_STEP: Final = ("Step", "Step Id")
_TIME: Final = "Timestamp(us)"
_CALLS: Final = "Count"


def write_summary(stem: str, paths: Sequence[Path], reading: Reading, counters: CounterSeries) -> None:
    """A table to ``reported``: one row per cell that is a number. A table with moments goes to ``counters``."""
    table = CsvTable(paths, reading)
    for rows in table.pieces():
        key = _key(rows, ascend_facts().reported[stem])
        if rows.find(_TIME) is not None:
            _add_samples(rows, key, stem, counters)
        else:
            step = rows.integer(*_STEP).alias("step")
            _put_cells(rows.numbers(step, key.alias("key")), table.name, reading.out)


def write_operator_totals(paths: Sequence[Path], reading: Reading) -> None:
    """``operator_details.csv``, one row per call without a time, to ``reported``: sums per operator."""
    table = CsvTable(paths, reading)
    sums = []
    for rows in table.pieces():
        names = rows.text("Name").alias("key")
        rows.skip("Input Shapes", "Call Stack")  # the timeline's operators carry both
        frame = rows.numbers(names).with_columns(pl.lit(1.0).alias(_CALLS))
        sums.append(frame.group_by("key", maintain_order=True).agg(pl.all().sum()))
    if sums:
        total = pl.concat(sums, how="diagonal").group_by("key", maintain_order=True).agg(pl.all().sum())
        _put_cells(total, table.name, reading.out)


def _put_cells(frame: pl.DataFrame, file: str, out: RankWriter) -> None:
    index = [name for name in ("step", "key") if name in frame.columns]
    long = frame.unpivot(index=index, variable_name="metric", value_name="value").drop_nulls("value")
    texts = pl.col("metric", *({"key"} & set(index))).cast(pl.Categorical)  # as other files have them
    out.add("reported", long.with_columns(texts, file=pl.lit(file, pl.Categorical)))


def _add_samples(rows: Rows, key: pl.Series, stem: str, counters: CounterSeries) -> None:
    moments = rows.time(_TIME)
    values = rows.numbers()
    for word in key.unique(maintain_order=True):
        own = np.flatnonzero(key.eq_missing(pl.Series([word], dtype=pl.String)).to_numpy())
        for header in values.columns:
            counters.add_samples(stem, f"{word} {header}" if word else header, moments[own], values[header].gather(own))


def _key(rows: Rows, columns: tuple[str, ...]) -> pl.Series:
    """The columns that name a row, joined like the vendor joins names: with an at sign."""
    given = [rows.text(name) for name in columns if rows.find(name) is not None]
    if not given:
        return pl.Series([None] * len(rows), dtype=pl.String)
    return pl.select(pl.concat_str(given, separator="@", ignore_nulls=True)).to_series()
