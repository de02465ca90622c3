"""A stored run: a manifest and Parquet files. A reader sees a whole run or none, because the manifest comes last.

::

    manifest.json           what belongs to the run; replaced in one move
    lock                    held by the process that ingests
    rank-0-<fingerprint>/   large tables of one rank
    merged-<number>/        small tables, all ranks together
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.store import schema
from stepscope.store.notes import Note

_MANIFEST: Final = "manifest.json"
_TEMPORARY: Final = "tmp-"
# A process may still read the files of the run before; afterwards they are rubbish.
_KEEP_OLD_SECONDS: Final = 3600


@dataclass
class Part:
    """The stored tables of one rank: rows per file, relative to the run's directory."""

    rank: int
    source: str
    reader: str
    fingerprint: str
    tables: dict[str, dict[str, int]]
    events: int
    bytes: int
    seconds: float


@dataclass
class Manifest:
    capture: str
    window: str
    parts: list[Part]
    merged: dict[str, dict[str, int]]
    schema_version: int = schema.SCHEMA_VERSION
    written_by: str = ""
    sizes: dict[str, int] = field(default_factory=dict)  # bytes per file, to notice a damaged store

    def files(self, table: str) -> dict[str, int]:
        if not schema.TABLES[table].per_rank:
            return self.merged.get(table, {})
        return {name: rows for part in self.parts for name, rows in part.tables.get(table, {}).items()}

    def rows(self, table: str) -> int:
        return sum(self.files(table).values())


@dataclass
class RunStore:
    """An opened run."""

    directory: Path
    manifest: Manifest

    def scan(self, table: str, ranks: list[int] | None = None) -> pl.LazyFrame:
        """The rows of a table, lazily; only the files of ``ranks`` are touched."""
        files = list(self.manifest.files(table))
        if ranks is not None and schema.TABLES[table].per_rank:
            wanted = {name for part in self.manifest.parts if part.rank in ranks for name in part.tables.get(table, {})}
            files = [name for name in files if name in wanted]
        if not files:
            return schema.empty(table).lazy()
        frame = pl.scan_parquet([self.directory / name for name in files])
        if ranks is not None and "rank" in schema.TABLES[table].schema:
            frame = frame.filter(pl.col("rank").is_in(ranks))
        return frame

    def notes(self) -> list[Note]:
        rows = self.scan("notes").collect().iter_rows(named=True)
        return [
            Note(
                row["code"],
                json.loads(row["params"] or "{}"),
                row["file"] or "",
                row["place"] or "",
                row["count"],
                row["rank"],
            )
            for row in rows
        ]


def open_store(directory: Path) -> RunStore | None:
    """The run stored here, or None if there is none, it is of another schema version, or a file is missing."""
    try:
        found = json.loads((directory / _MANIFEST).read_text("utf-8"))
        if found["schema_version"] != schema.SCHEMA_VERSION:
            return None
        manifest = Manifest(**{**found, "parts": [Part(**part) for part in found["parts"]]})
        if any((directory / name).stat().st_size != size for name, size in manifest.sizes.items()):
            return None
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return RunStore(directory, manifest)


def temporary_directory(directory: Path) -> Path:
    """A new directory for unfinished work."""
    path = directory / f"{_TEMPORARY}{os.getpid()}-{uuid.uuid4().hex}"
    path.mkdir(parents=True)
    return path


def publish(finished: Path, final: Path) -> None:
    """Give a finished directory its name; if another process was first with the same content, theirs stays."""
    try:
        finished.rename(final)
    except OSError:
        if not final.is_dir():
            raise
        shutil.rmtree(finished, ignore_errors=True)


def save(directory: Path, manifest: Manifest) -> RunStore:
    """Make the manifest's files the stored run."""
    names = [name for part in manifest.parts for files in part.tables.values() for name in files]
    names += [name for files in manifest.merged.values() for name in files]
    manifest.sizes = {name: (directory / name).stat().st_size for name in names}
    draft = directory / f"{_TEMPORARY}{uuid.uuid4().hex}.json"
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(manifest), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(directory / _MANIFEST)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return RunStore(directory, manifest)


def sweep(directory: Path, manifest: Manifest | None) -> None:
    """Remove what killed processes left, and runs replaced long ago. Call only while holding the lock."""
    used = {name.split("/")[0] for name in manifest.sizes} if manifest else set()
    now = time.time()
    for entry in directory.iterdir():
        if entry.name in used or entry.name in (_MANIFEST, "lock"):
            continue
        if entry.name.startswith(_TEMPORARY) or now - entry.stat().st_mtime > _KEEP_OLD_SECONDS:
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def note_rows(notes: list[Note]) -> pl.DataFrame:
    """Rows of ``notes``."""
    fields: list[dict[str, Any]] = [
        {**asdict(note), "params": json.dumps(note.params, ensure_ascii=False)} for note in notes
    ]
    return schema.conform("notes", pl.DataFrame(fields)) if fields else schema.empty("notes")
