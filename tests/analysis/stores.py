"""Small runs made by hand, written into a real store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from stepscope.store import schema
from stepscope.store.run_store import Manifest, Part, RunStore, save

Rows = list[dict[str, Any]]


def make_store(directory: Path, **tables: Rows | pl.DataFrame) -> RunStore:
    """A stored run with these rows; what a row lacks is null, its rank 0, and slices are numbered in order."""
    frames = {name: _complete(name, rows) for name, rows in tables.items()}
    ranks = sorted(
        {int(rank) for frame in frames.values() if "rank" in frame.columns for rank in frame["rank"].unique()} or {0}
    )
    if "ranks" not in frames:
        frames["ranks"] = _complete("ranks", [{"rank": rank} for rank in ranks])
    parts = [Part(rank, "hand", "hand", "", {}, 0, 0, 0.0) for rank in ranks]
    merged: dict[str, dict[str, int]] = {}
    for name, frame in frames.items():
        if not schema.TABLES[name].per_rank:
            merged[name] = _written(directory, f"merged/{name}.parquet", frame)
            continue
        for part in parts:
            rows = frame.filter(pl.col("rank") == part.rank)
            part.tables[name] = _written(directory, f"rank-{part.rank}/{name}.parquet", rows)
    return save(directory, Manifest("hand", "hand", parts, merged))


def _complete(table: str, rows: Rows | pl.DataFrame) -> pl.DataFrame:
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, infer_schema_length=None)
    if frame.is_empty() and not frame.columns:
        return schema.empty(table)
    columns = schema.TABLES[table].schema
    if "rank" in columns and "rank" not in frame.columns:
        frame = frame.with_columns(rank=pl.lit(0))
    if table == "slices":
        defaults = {"track": 0, "row": 0}
        frame = frame.with_columns(
            pl.lit(value).alias(name) for name, value in defaults.items() if name not in frame.columns
        )
        if "slice" not in frame.columns:
            frame = frame.with_row_index("slice")
    return schema.conform(table, frame)


def _written(directory: Path, name: str, frame: pl.DataFrame) -> dict[str, int]:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path)
    return {name: len(frame)}
