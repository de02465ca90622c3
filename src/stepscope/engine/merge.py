"""Small tables of all ranks, each as one file, so that a thousand ranks do not make tens of thousands of files."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl

from stepscope.store import schema
from stepscope.store.notes import Note
from stepscope.store.rank_writer import write
from stepscope.store.run_store import Part, RunStore, note_rows, temporary_directory


def merge(
    directory: Path, attempt: str, kept: list[Part], read: list[Part], notes: list[Note], old: RunStore | None
) -> dict[str, dict[str, int]]:
    """Merge what was read now with what the old run has of the kept ranks; rows per file, per table.

    ``notes`` are those about the capture as a whole. The per-rank files of small tables are removed afterwards.
    """
    final = directory / f"merged-{attempt}"
    work = temporary_directory(directory, attempt)
    merged: dict[str, dict[str, int]] = {}
    try:
        for table in schema.TABLES.values():
            if table.per_rank:
                continue
            frames = [pl.read_parquet(directory / name) for part in read for name in part.tables.get(table.name, {})]
            frames += _of_kept_ranks(table.name, kept, old)
            if table.name == "notes":
                frames.append(note_rows(notes))
            frame = _in_order(table.name, pl.concat(frames)) if frames else schema.empty(table.name)
            if frame.height:
                write(frame, work / f"{table.name}.parquet")
                merged[table.name] = {f"{final.name}/{table.name}.parquet": frame.height}
        work.rename(final)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    for part in read:
        for name in [name for name in part.tables if not schema.TABLES[name].per_rank]:
            for file in part.tables.pop(name):
                (directory / file).unlink()
    return merged


def _of_kept_ranks(table: str, kept: list[Part], old: RunStore | None) -> list[pl.DataFrame]:
    if old is None or not kept:
        return []
    before = old.scan(table).collect()
    if "rank" not in before.columns:
        return [before]
    return [before.filter(pl.col("rank").is_in([part.rank for part in kept]))]


def _in_order(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    if table == "groups":
        # What the job states about its groups comes before what its calls tell; the result must not depend on which
        # rank was read first.
        stated = pl.col("origin").cast(pl.String) == "distributedInfo"
        frame = frame.sort(pl.col("ranks").is_null(), ~stated, pl.col("group").cast(pl.String), "name")
        return frame.unique("group", keep="first", maintain_order=True)
    return frame.sort("rank", maintain_order=True, nulls_last=True)
