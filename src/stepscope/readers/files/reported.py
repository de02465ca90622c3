"""Rows of ``reported``: what the vendor's own summaries say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from stepscope.readers.files.numbers import number
from stepscope.readers.files.repair import clean_text
from stepscope.readers.files.text_files import Table
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter


class Reported:
    """Grows by values; ``write`` empties it into the table."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, int | None, str, str, float]] = []

    def add(self, file: str, key: str, metric: str, value: Any, step: int | None = None) -> bool:
        """One value; False if it is no number."""
        amount = number(value)
        if amount is not None:
            self._rows.append((file, step, clean_text(key), clean_text(metric), amount))
        return amount is not None

    def add_table(self, file: str, table: Table, keys: Iterable[str], notes: Notes, texts: Iterable[str] = ()) -> None:
        """Every cell of a table; one that should be a number and is none is noted.

        The first of ``keys`` that the table has names its rows; ``texts`` are columns known to hold no numbers.
        """
        key = table.column(*keys)
        aside = {column for name in texts if (column := table.column(name)) is not None} | {key}
        bad = 0
        for line, row in enumerate(table.rows):
            label = row[key] if key is not None else str(line + 1)
            for column, metric in enumerate(table.header):
                if column not in aside and row[column]:
                    bad += not self.add(file, label, metric, row[column])
        notes.add("mindspore_cells_not_numbers", file=file, count=bad)

    def write(self, out: RankWriter) -> None:
        """Into the table ``reported``."""
        rows, self._rows = self._rows, []
        schema = {"file": pl.String, "step": pl.Int64, "key": pl.String, "metric": pl.String, "value": pl.Float64}
        out.add("reported", pl.DataFrame(rows, schema=schema, orient="row"))
