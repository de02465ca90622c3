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
            pieces = _pieces(name, directory, kept, read, old)
            if name == "notes":
                pieces.append(note_rows([*notes, *about_clocks]).lazy())
            if not pieces:
                continue
            table = pl.concat(pieces)
            if name == "groups":
                table = _each_group_once(table)
            elif kept or any(_holds_several_ranks(part) for part in read):
                table = table.sort("rank", maintain_order=True, nulls_last=True)
            if name == "ranks":
                frame, about_clocks = with_clocks(table.collect(), _written(work, "collectives"))
                table = frame.lazy()
            write(table, work / f"{name}.parquet")
            if rows := _rows(work / f"{name}.parquet"):
                merged[name] = {f"{final.name}/{name}.parquet": rows}
            else:
                (work / f"{name}.parquet").unlink()
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
    return pl.scan_parquet(file, glob=False) if file.exists() else schema.empty(table).lazy()


def _rows(file: Path) -> int:
    return int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())


def _pieces(
    table: str, directory: Path, kept: list[Part], read: list[Part], old: RunStore | None
) -> list[pl.LazyFrame]:
    """What was read now, in the order of the ranks, and what the old run has of the kept ones.

    Nothing is loaded: what thousands of ranks say together may be far larger than what one of them says.
    """
    in_order = sorted(read, key=lambda part: part.rank)
    files = [directory / file for part in in_order for file in part.tables.get(table, {})]
    pieces = [pl.scan_parquet(files, glob=False)] if files else []
    if old is not None and kept:
        before = old.scan(table)
        of_kept = pl.col("rank").is_in([part.rank for part in kept])
        pieces.append(before.filter(of_kept) if "rank" in schema.TABLES[table].schema else before)
    return pieces


def _holds_several_ranks(part: Part) -> bool:
    """What a tool summed up over a cluster is one part with many ranks."""
    return sum(part.tables.get("ranks", {}).values()) > 1


def _each_group_once(groups: pl.LazyFrame) -> pl.LazyFrame:
    """What the job states about its groups comes before what its calls tell, whichever rank was read first."""
    stated = pl.col("origin").cast(pl.String) == "distributedInfo"
    ordered = groups.sort(pl.col("ranks").is_null(), ~stated, pl.col("group").cast(pl.String), "name")
    return ordered.unique("group", keep="first", maintain_order=True)
