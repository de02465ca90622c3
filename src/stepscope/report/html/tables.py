"""Frames as tables of a page: the same units and digits as at a terminal, columns named in both languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import polars as pl

from stepscope.diagnosis.finding import Bilingual
from stepscope.questions.units import units_within
from stepscope.report.html.sections import Column, Table
from stepscope.report.tables import UNWRITTEN, cell, readable_units


def table(
    name: str, frame: pl.DataFrame, rows: Any, columns: Sequence[str], most: int, one_unit: bool = False
) -> Table | None:
    """The first rows of some columns; ``rows`` is the type of a row. None where there are no rows."""
    if frame.is_empty():
        return None
    chosen = frame.select(column for column in columns if _tells(frame[column]))
    shown = readable_units(chosen, units_within(rows), one_unit)
    left = len(frame) - most
    return Table(
        id=name,
        title=Bilingual.of(f"report_title.{name}"),
        columns=[Column(_label(column, shown[column]), chosen[column].dtype.is_numeric()) for column in chosen.columns],
        rows=[[cell(row[column], shown[column]) for column in chosen.columns] for row in chosen.head(most).to_dicts()],
        after=[Bilingual.of("report.more_rows", count=left)] if left > 0 else [],
    )


def of_entries(name: str, entries: Sequence[Any], columns: Sequence[str], most: int) -> Table | None:
    """The same of structures."""
    if not entries:
        return None
    frame = pl.DataFrame([msgspec.structs.asdict(entry) for entry in entries], infer_schema_length=None)
    return table(name, frame, type(entries[0]), columns, most)


def _tells(column: pl.Series) -> bool:
    """Whether a column says anything: a mark that no row has does not."""
    return bool(column.any()) if column.dtype == pl.Boolean else column.null_count() < len(column)


def _label(column: str, unit: str) -> Bilingual:
    label = Bilingual.of(f"report_column.{column}")
    return label if unit in UNWRITTEN else Bilingual(f"{label.en} [{unit}]", f"{label.zh} [{unit}]")
