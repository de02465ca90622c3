"""A run as a directory of Parquet files, one per table, all ranks together."""

from __future__ import annotations

from pathlib import Path

from stepscope.store import schema
from stepscope.store.run_store import RunStore


def write(store: RunStore, ranks: list[int], directory: Path) -> None:
    """Write every table that has rows."""
    directory.mkdir()
    for table in schema.TABLES:
        if store.manifest.rows(table):
            store.scan(table, ranks).sink_parquet(directory / f"{table}.parquet", compression="zstd")
