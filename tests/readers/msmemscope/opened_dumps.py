"""Dumps made by hand, read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from readers.msmemscope_builder import Row, free, malloc, op
from stepscope.readers import msmemscope
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

A, B, C = 0x12C0_4140_0000, 0x12C0_4150_0000, 0x12C0_4160_0000


class Read:
    """The tables and notes of a dump."""

    def __init__(self, source: Source | Path, folder: Path) -> None:
        if isinstance(source, Path):
            source = Source(source, "msmemscope", 0, (source,))
        out = folder / f"tables-{len(list(folder.iterdir()))}"
        out.mkdir()
        writer, notes = RankWriter(out, 0), Notes()
        msmemscope.read(Reading(source, writer, notes))
        self.tables = {
            table: pl.concat([pl.read_parquet(out / name) for name in files]) for table, files in writer.close().items()
        }
        self.notes = {note.code: note.count for note in notes.all()}
        for note in notes.all():
            assert note.sentence("en")
            assert note.sentence("zh")

    def rows(self, table: str, **wanted: Any) -> list[dict[str, Any]]:
        found = self.tables[table].rows(named=True) if table in self.tables else []
        return [row for row in found if all(row[name] == value for name, value in wanted.items())]


def block_rows() -> list[Row]:
    """As files have them: the rows of a block stand together, where it was freed."""
    return [
        malloc(10, 100, B, 512, more=",total:2048,used:1536"),
        free(12, 120, B, 512, more=",total:2048,used:1024"),
        malloc(5, 50, A, 1024, more=",total:2048,used:1024"),
        free(70, 700, A, 1024, more=",total:4096,used:0"),
        malloc(71, 710, A, 256, more=",total:4096,used:256"),
        malloc(73, 730, A, 4096, "HAL", more=",page_type:huge,alloc_type:create"),
        free(90, 900, A, 4096, "HAL"),
        malloc(80, 800, C, 8192, "HAL", more=",page_type:normal,alloc_type:alloc"),
        Row(1, "SYSTEM", "START_TRACE", time=1, device="N/A", attr="{free:5000,total:9000}"),
        Row(130, "SYSTEM", "STOP_TRACE", time=1300, device="N/A"),
    ]


def everything() -> list[Row]:
    return [
        *block_rows(),
        op(200, 60, "aten.add"),
        op(201, 75, "aten.add", end=True),
        Row(202, "MSTX", "Mark", "here", 80),
        Row(203, "SYSTEM", "STEP", "1", 500),
        Row(204, "KERNEL_LAUNCH", "KERNEL_LAUNCH", "k", 510, attr="{streamId:1,taskId:2}"),
        Row(205, "KERNEL_LAUNCH", "KERNEL_EXECUTE_START", "k", 520, "N/A", "N/A", attr="{streamId:1,taskId:2}"),
        Row(206, "KERNEL_LAUNCH", "KERNEL_EXECUTE_END", "k", 530, "N/A", "N/A", attr="{streamId:1,taskId:2}"),
        malloc(
            207, 540, C + 4096, 64, more=",total:1,used:64,owner:PTA@weight", python_stack="b.py(2): g\na.py(1): f\n"
        ),
    ]
