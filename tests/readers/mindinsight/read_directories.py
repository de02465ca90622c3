"""Directories made by hand: claimed, read, and what they report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from readers import mindinsight_builder as made
from stepscope.readers import mindinsight
from stepscope.readers.discovery.source import Source
from support.rank_tables import Tables, counts_of, tables_of

Read = tuple[Tables, dict[str, int]]


def claim(directory: Path) -> list[Source]:
    entries = sorted(directory.iterdir())
    folders = [entry.name for entry in entries if entry.is_dir()]
    return mindinsight.claim(directory, folders, [entry.name for entry in entries if entry.is_file()]) or []


def read_source(source: Source, out: Path) -> Read:
    tables, notes = tables_of(mindinsight, source, out)
    return tables, counts_of(notes)


def read(directory: Path, out: Path) -> Read:
    (source,) = claim(directory)
    return read_source(source, out)


def read_files(tmp_path: Path, *names: str, **contents: str) -> Read:
    """Read some of the made files; ``contents`` replaces the text of those whose name begins so."""
    known = made.gpu_contents() | made.contents()
    chosen = {name: known[name] for name in names}
    for name in chosen:
        for start, content in contents.items():
            if name.startswith(start):
                chosen[name] = content
    return read(made.write(tmp_path / "profiler", chosen), tmp_path / "out")


def reported(tables: Tables, file: str) -> list[tuple[Any, ...]]:
    return tables["reported"].filter(pl.col("file") == file).select("step", "key", "metric", "value").rows()
