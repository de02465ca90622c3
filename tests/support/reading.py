"""One trace file read by its reader, without store, manifest or processes: for tests that read hundreds."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.errors import StepscopeError
from stepscope.readers.discovery.windows import windows
from stepscope.readers.files import reading
from stepscope.readers.formats import READERS
from stepscope.store import schema
from stepscope.store.notes import Note, Notes
from stepscope.store.rank_writer import RankWriter


@dataclass
class Reading:
    reader: str
    tables: dict[str, pl.DataFrame]
    notes: list[Note]

    def table(self, name: str) -> pl.DataFrame:
        return self.tables.get(name, schema.empty(name))

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.table(name).to_dicts()

    @property
    def slices(self) -> dict[int, dict[str, Any]]:
        """Rows of ``slices`` by id."""
        return {row["slice"]: row for row in self.rows("slices")}

    def named(self, name: str) -> dict[str, Any]:
        """The only slice of a name."""
        (row,) = [row for row in self.rows("slices") if row["name"] == name]
        return row

    @property
    def codes(self) -> dict[str, int]:
        """How often each kind of note was made."""
        counts: dict[str, int] = {}
        for note in self.notes:
            counts[note.code] = counts.get(note.code, 0) + note.count
        return counts


def read(path: Path) -> Reading:
    """The file as the rank that it is found to be."""
    (source,) = windows(path)[-1].sources
    notes = Notes()
    with tempfile.TemporaryDirectory() as directory:
        out = RankWriter(Path(directory), source.rank or 0)
        READERS[source.reader].read(reading.Reading(source, out, notes))
        files = out.close()
        tables = {
            table: pl.concat([pl.read_parquet(Path(directory) / name) for name in names])
            for table, names in files.items()
        }
    for note in notes.all():
        assert note.sentence("en"), note
        assert note.sentence("zh"), note
    return Reading(source.reader, tables, notes.all())


def rows_or_reason(path: Path) -> object:
    """All rows and notes of a file, or the reason that there are none."""
    try:
        found = read(path)
    except StepscopeError as error:
        return error.message("en")
    return {name: table.rows() for name, table in found.tables.items()}, found.notes
