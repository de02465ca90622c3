"""What the tool found out about blocks by itself, counted; and how to make it tell more."""

from __future__ import annotations

import polars as pl

from stepscope.store.notes import Notes


def reported(blocks: pl.DataFrame, file: str) -> pl.DataFrame:
    """Rows of ``reported``: blocks and bytes per kind of inefficiency, of page and of driver allocation."""
    born = blocks.filter(pl.col("event") == "MALLOC")
    parts = []
    for name in ("inefficient_type", "page_type", "alloc_type"):
        told = born.filter(pl.col(name).is_not_null()).with_columns(key=pl.col(name).str.split(",")).explode("key")
        sums = told.group_by("key", maintain_order=True).agg(
            blocks=pl.len().cast(pl.Float64), bytes=pl.col("size").sum().cast(pl.Float64)
        )
        parts.append(sums.unpivot(index="key", variable_name="metric").with_columns(key=name + ": " + pl.col("key")))
    return pl.concat(parts).with_columns(file=pl.lit(file))


def remark(blocks: pl.DataFrame, notes: Notes, file: str) -> None:
    """Switches that were off, by what is missing."""
    born = blocks.filter(pl.col("event") == "MALLOC")
    if born.is_empty():
        notes.add("msmemscope_without_blocks", file=file)
        return
    if not (blocks["event"] == "FREE").any():
        notes.add("msmemscope_without_frees", file=file, count=born.height)
    if born["stack"].null_count() == born.height:
        notes.add("msmemscope_without_stacks", file=file, count=born.height)
    if born["owner"].null_count() == born.height:
        notes.add("msmemscope_without_owners", file=file, count=born.height)
