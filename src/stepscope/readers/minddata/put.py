"""Rows into a table in pieces that fit together, whichever columns each piece has."""

from __future__ import annotations

import polars as pl

from stepscope.store import schema
from stepscope.store.rank_writer import RankWriter


def put(out: RankWriter, table: str, frame: pl.DataFrame) -> None:
    """Add rows with exactly the table's columns, so that pieces of several files can be joined."""
    if frame.is_empty():
        return
    if "rank" in schema.TABLES[table].schema and "rank" not in frame.columns:
        frame = frame.with_columns(rank=pl.lit(out.rank, dtype=pl.Int32))
    out.add(table, schema.conform(table, frame))
