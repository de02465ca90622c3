"""Small tables of all ranks, each as one file, so that a thousand ranks do not make tens of thousands of files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import polars as pl

from stepscope.engine.finished_ranks import FILE as DESCRIPTION
from stepscope.store import schema
from stepscope.store.clocks import with_clocks
from stepscope.store.notes import Note
from stepscope.store.rank_writer import write
from stepscope.store.run_store import Part, RunStore, note_rows, temporary_directory

# Clocks are estimated from collectives, and notes tell of that.
_SMALL_TABLES: Final = sorted(
    (name for name, table in schema.TABLES.items() if not table.per_rank),
    key=lambda name: {"collectives": 0, "notes": 2}.get(name, 1),
)


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
        about_clocks: list[Note] = []
        for name in _SMALL_TABLES:
            frames = [pl.read_parquet(directory / file) for part in read for file in part.tables.get(name, {})]
            frames += _of_kept_ranks(name, kept, old)
            if name == "notes":
                frames.append(note_rows([*notes, *about_clocks]))
            frame = _in_order(name, pl.concat(frames)) if frames else schema.empty(name)
            if name == "ranks":
                frame, about_clocks = with_clocks(frame, _written(work, "collectives"))
            if frame.height:
                write(frame, work / f"{name}.parquet")
                merged[name] = {f"{final.name}/{name}.parquet": frame.height}
        work.rename(final)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    for part in read:
        for folder in {Path(file).parent for file in part.files()}:
            (directory / folder / DESCRIPTION).unlink(missing_ok=True)
        for name in [name for name in part.tables if not schema.TABLES[name].per_rank]:
            for file in part.tables.pop(name):
                (directory / file).unlink()
    return merged


def _written(directory: Path, table: str) -> pl.LazyFrame:
    file = directory / f"{table}.parquet"
    return pl.scan_parquet(file) if file.exists() else schema.empty(table).lazy()


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
