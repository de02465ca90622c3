"""Tables that the vendor computed itself: kept as they are, to stand beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from stepscope import facts
from stepscope.readers.ascend_text.counters import CounterSeries
from stepscope.readers.ascend_text.csv_table import CsvTable, Rows
from stepscope.readers.minddata.put import put
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

OnRead = Callable[[int], None] | None

_STEP: Final = ("Step", "Step Id")
_TIME: Final = "Timestamp(us)"
_CALLS: Final = "Count"
_REPORTED: Final = ("file", "step", "key", "metric", "value")


def write_summary(
    stem: str, paths: Sequence[Path], out: RankWriter, counters: CounterSeries, notes: Notes, on_read: OnRead
) -> None:
    """A table to ``reported``: one row per cell that is a number. A table with moments goes to ``counters``."""
    table = CsvTable(paths, notes, on_read)
    for rows in table.pieces():
        key = _key(rows, facts.table("ascend")["reported"][stem])
        if rows.find(_TIME) is not None:
            _add_samples(rows, key, stem, counters)
        else:
            put(out, "reported", _cells(rows, key, table.name))


def write_operator_totals(paths: Sequence[Path], out: RankWriter, notes: Notes, on_read: OnRead) -> None:
    """``operator_details.csv``, one row per call without a time, to ``reported``: sums per operator."""
    table = CsvTable(paths, notes, on_read)
    sums = []
    for rows in table.pieces():
        names = rows.text("Name")
        rows.skip("Input Shapes", "Call Stack")  # the timeline's operators carry both
        metrics = {header: _number(rows, header) for header in _left(rows)}
        numbers = {header: values for header, values in metrics.items() if values is not None}
        frame = pl.DataFrame({"key": names, **numbers}).group_by("key", maintain_order=True)
        sums.append(frame.agg(pl.len().cast(pl.Float64).alias(_CALLS), *[pl.col(name).sum() for name in numbers]))
    if sums:
        total = pl.concat(sums, how="diagonal").group_by("key", maintain_order=True).agg(pl.all().sum())
        long = total.unpivot(index="key", variable_name="metric", value_name="value")
        put(out, "reported", long.with_columns(file=pl.lit(table.name), step=pl.lit(None, pl.Int64)).select(_REPORTED))


def _cells(rows: Rows, key: pl.Series, file: str) -> pl.DataFrame:
    step = rows.integer(*_STEP)
    found = []
    for header in _left(rows):
        values = _number(rows, header)
        if values is not None:
            found.append(pl.DataFrame({"step": step, "key": key, "metric": [header] * len(rows), "value": values}))
    if not found:
        return pl.DataFrame()
    return pl.concat(found).drop_nulls("value").with_columns(file=pl.lit(file)).select(_REPORTED)


def _add_samples(rows: Rows, key: pl.Series, stem: str, counters: CounterSeries) -> None:
    moments = rows.time(_TIME)
    headers = [(header, values) for header in _left(rows) if (values := _number(rows, header)) is not None]
    for word in key.unique(maintain_order=True):
        own = np.flatnonzero(key.eq_missing(pl.Series([word], dtype=pl.String)).to_numpy())
        for header, values in headers:
            counters.add_samples(stem, f"{word} {header}" if word else header, moments[own], values.gather(own))


def _key(rows: Rows, columns: list[str]) -> pl.Series:
    """The columns that name a row, joined like the vendor joins names: with an at sign."""
    given = [rows.text(name) for name in columns if rows.find(name) is not None]
    if not given:
        return pl.Series([None] * len(rows), dtype=pl.String)
    return pl.select(pl.concat_str(given, separator="@", ignore_nulls=True)).to_series()


def _left(rows: Rows) -> list[str]:
    rows.skip("Device_id")
    return [header for header in rows.frame.columns if rows.find_unused(header) is not None]


def _number(rows: Rows, header: str) -> pl.Series | None:
    """The column as numbers, None if it holds none; it then stays among what is noted as unused."""
    texts = rows.frame[header]
    if texts.cast(pl.Float64, strict=False).null_count() == len(texts):
        return None
    return rows.number(header)
