"""Snapshots made by hand, read; and a pickle that would run something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from readers.memory_snapshot_builder import MB, segment
from stepscope.readers import memory_snapshot
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

A = 0x7F00_0000_0000


class Read:
    """The tables and notes of a snapshot."""

    def __init__(self, path: Path, folder: Path) -> None:
        out = folder / f"tables-{len(list(folder.iterdir()))}"
        out.mkdir()
        writer, notes = RankWriter(out, 0), Notes()
        memory_snapshot.read(Reading(Source(path, "memory_snapshot", 0, (path,)), writer, notes))
        self.tables = {
            table: pl.concat([pl.read_parquet(out / name) for name in files]) for table, files in writer.close().items()
        }
        self.notes = {note.code: note.count for note in notes.all()}
        self.params = {note.code: note.params for note in notes.all()}
        for note in notes.all():
            assert note.sentence("en")
            assert note.sentence("zh")

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.tables[table].rows(named=True) if table in self.tables else []


def small(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return segment(A, 2 * MB, list(blocks), **more)


class Evil:
    def __init__(self, *reduced: Any) -> None:
        self.reduced = reduced

    def __reduce__(self) -> Any:
        return self.reduced
