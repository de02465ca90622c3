"""One rank read by a given reader, without store, manifest or processes: its tables and what was noted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

Tables = dict[str, pl.DataFrame]


class Reader(Protocol):
    def read(self, reading: Reading, /) -> Any: ...


def tables_of(reader: Reader, source: Source, out: Path) -> tuple[Tables, Notes]:
    """The tables that the reader writes below ``out``; each note has its sentences."""
    out.mkdir(parents=True, exist_ok=True)
    writer, notes = RankWriter(out, source.rank or 0), Notes()
    reader.read(Reading(source, writer, notes))
    tables = {
        table: pl.concat([pl.read_parquet(out / name) for name in files]) for table, files in writer.close().items()
    }
    for note in notes.all():
        assert note.sentence("en") and note.sentence("zh")
    return tables, notes


def counts_of(notes: Notes) -> dict[str, int]:
    """How often each kind of note was made."""
    counts: Counter[str] = Counter()
    for note in notes.all():
        counts[note.code] += note.count
    return dict(counts)
