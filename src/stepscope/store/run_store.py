"""A stored run: a manifest and Parquet files. A reader sees a whole run or none, because the manifest comes last.

::

    manifest.json                   what belongs to the run, with a checksum per file; replaced in one move
    lock                            held by the process that ingests
    rank-0-<fingerprint>-<number>/  large tables of one rank
    merged-<number>/                small tables, all ranks together

A file is checked when a process first reads it. One that is damaged is made again from the capture, if that is still
there; no number ever comes from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.errors import StepscopeError, UnreadableInputError
from stepscope.store import schema
from stepscope.store.integrity import (
    TEMPORARY,
    checksum,
    flush_directory,
    private_directory,
    read_document,
    save_document,
)
from stepscope.store.merged_table import MergedTable
from stepscope.store.notes import Note
from stepscope.store.workspace import Workspace

_MANIFEST: Final = "manifest.json"
# A process may still read the files of the run before; afterwards they are rubbish.
_KEEP_OLD_SECONDS: Final = 3600
# Waiting for the disk, not working.
_FLUSHED_AT_ONCE: Final = 8


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

    def identity(self) -> tuple[int, str, str]:
        """What it was made of."""
        return self.rank, self.source, self.fingerprint

    def files(self) -> list[str]:
        return [name for files in self.tables.values() for name in files]


@dataclass
class Manifest:
    capture: str
    window: str
    parts: list[Part]
    merged: dict[str, dict[str, int]]
    schema_version: int = schema.SCHEMA_VERSION
    written_by: str = ""
    sizes: dict[str, int] = field(default_factory=dict)  # bytes per file
    checksums: dict[str, int] = field(default_factory=dict)  # per file, to notice a damaged store

    def files(self, table: str) -> dict[str, int]:
        if not schema.TABLES[table].per_rank:
            return self.merged.get(table, {})
        return {name: rows for part in self.parts for name, rows in part.tables.get(table, {}).items()}

    def files_of_ranks(self, table: str, ranks: Iterable[int]) -> list[str]:
        """The files of some ranks, of a table that has files by rank: without a look at all the others."""
        positions = sorted({position for rank in ranks for position in self._positions.get(rank, ())})
        return [name for position in positions for name in self.parts[position].tables.get(table, {})]

    def rows_of_rank(self, table: str, rank: int) -> int:
        """How many rows a rank has in a table that has files by rank."""
        parts = (self.parts[position] for position in self._positions.get(rank, ()))
        return sum(sum(part.tables.get(table, {}).values()) for part in parts)

    @cached_property
    def _positions(self) -> dict[int, list[int]]:
        by_rank: dict[int, list[int]] = {}
        for position, part in enumerate(self.parts):
            by_rank.setdefault(part.rank, []).append(position)
        return by_rank

    def contents(self) -> set[tuple[int, str, str]]:
        """What the run was made of."""
        return {part.identity() for part in self.parts}

    def rows(self, table: str) -> int:
        return sum(self.files(table).values())


@dataclass
class RunStore:
    """An opened run. ``mend`` makes it whole again from its capture; ``mended`` tells what had to be."""

    directory: Path
    manifest: Manifest
    mend: Callable[[], RunStore] | None = field(default=None, repr=False, compare=False)
    mended: list[Note] = field(default_factory=list, repr=False, compare=False)
    #: What the user added by hand; none for a store that was opened without its capture.
    workspace: Workspace | None = field(default=None, repr=False, compare=False)
    #: Files that were whole, with their state at that time.
    checked: dict[str, tuple[int, int, int]] = field(default_factory=dict, repr=False, compare=False)
    #: Tables of all ranks that were asked for single ranks, each with its files.
    _merged: dict[str, tuple[list[str], MergedTable]] = field(default_factory=dict, repr=False, compare=False)
    _mending: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    #: Names this opened store in caches. Not its address, which another store may get once this one is gone.
    token: object = field(default_factory=object, init=False, repr=False, compare=False)
    #: What other rooms worked out of this opened store and want to go with it, by name.
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def ranks(self) -> list[int]:
        """Numbers of the ranks in the run. What a tool summed up over a cluster is one part with many ranks."""
        parts = [part.rank for part in self.manifest.parts]
        if self.manifest.rows("ranks") <= len(parts):
            return parts
        return self.scan("ranks").select(pl.col("rank").unique().sort()).collect()["rank"].to_list()

    def scan(self, table: str, ranks: list[int] | None = None) -> pl.LazyFrame:
        """The rows of a table, lazily; only the files of ``ranks`` are touched."""
        files = self.intact_files(lambda: self._files(table, ranks))
        if not files:
            return schema.empty(table).lazy()
        frame = pl.scan_parquet([self.directory / name for name in files])
        if ranks is None or "rank" not in schema.TABLES[table].schema:
            return frame
        if schema.TABLES[table].per_rank:
            return frame.filter(pl.col("rank").is_in(ranks))
        return self._merged_table(table, files).of_ranks(ranks)

    def _merged_table(self, table: str, files: list[str]) -> MergedTable:
        known = self._merged.get(table)
        if known is None or known[0] != files:  # mended ones have new names
            paths = [self.directory / name for name in files]
            known = self._merged[table] = (files, MergedTable(paths, self.manifest.rows(table)))
        return known[1]

    def intact_files(self, wanted: Callable[[], list[str]]) -> list[str]:
        """The wanted files, whose bytes are those that were written: damaged ones are made again first."""
        files = wanted()
        if self.damaged(files):
            with self._mending:
                damaged = self.damaged(wanted())  # another thread may have been first
                if damaged:
                    self._mend(damaged)
            files = wanted()
        return files

    def damaged(self, files: Iterable[str], thorough: bool = True) -> list[str]:
        """Those of the files that are missing or not as they were written; each is read once unless it changes.

        Those that are not ``thorough`` look at sizes alone.
        """
        return [name for name in files if not self._is_whole(name, thorough)]

    def _files(self, table: str, ranks: list[int] | None) -> list[str]:
        if ranks is not None and schema.TABLES[table].per_rank:
            return self.manifest.files_of_ranks(table, ranks)
        return list(self.manifest.files(table))

    def _is_whole(self, name: str, thorough: bool) -> bool:
        path = self.directory / name
        try:
            state = path.stat()
            stamp = (state.st_size, state.st_mtime_ns, state.st_ino)
            if state.st_size != self.manifest.sizes[name]:
                return False
            if thorough and self.checked.get(name) != stamp:
                if checksum(path) != self.manifest.checksums[name]:
                    return False
                self.checked[name] = stamp
        except OSError:
            return False
        return True

    def _mend(self, damaged: list[str]) -> None:
        told = {"path": self.manifest.capture, "file": damaged[0]}
        if self.mend is None:
            raise UnreadableInputError("store_damaged", **told)
        try:
            whole = self.mend()
        except StepscopeError as error:
            raise UnreadableInputError("store_lost", **told, **error.as_reason()) from error
        if whole.manifest.contents() != self.manifest.contents():
            raise UnreadableInputError("store_damaged", **told)  # the capture has changed too: another run
        self.manifest = whole.manifest
        self.mended += whole.mended

    def notes(self) -> list[Note]:
        rows = self.scan("notes").collect().iter_rows(named=True)
        return self.mended + [
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


def is_store(directory: Path) -> bool:
    """Whether the directory says of itself that it is a stored run, of whatever version, whole or not."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    content = manifest.get("content", manifest) if isinstance(manifest, dict) else None  # older ones are not sealed
    return isinstance(content, dict) and {"schema_version", "parts", "merged"} <= content.keys()


def open_store(directory: Path) -> RunStore | None:
    """The run stored here, or None if there is none, or one of another schema version, or its manifest is damaged."""
    try:
        fields = read_document(directory / _MANIFEST)
        if fields["schema_version"] != schema.SCHEMA_VERSION:
            return None
        manifest = Manifest(**{**fields, "parts": [Part(**part) for part in fields["parts"]]})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return RunStore(directory, manifest)


def has_damaged_manifest(directory: Path) -> bool:
    """Whether a run was stored here of which nothing is known any more: its manifest cannot be read."""
    try:
        return "schema_version" not in read_document(directory / _MANIFEST)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, TypeError):
        return True


def temporary_directory(directory: Path, attempt: str) -> Path:
    """A new directory for unfinished work of one attempt to write."""
    path = directory / f"{TEMPORARY}{attempt}-{uuid.uuid4().hex}"
    private_directory(path)
    return path


def save(directory: Path, manifest: Manifest, before: Manifest | None = None, *, must_survive: bool = True) -> RunStore:
    """Make the manifest's files the stored run. Those that the run of ``before`` had are known to be on the disk.

    What can be made again at will need not wait for the disk: ``must_survive`` says whether it does.
    """
    names = [name for part in manifest.parts for name in part.files()]
    names += [name for files in manifest.merged.values() for name in files]
    known = before.checksums if before else {}
    fresh = [name for name in names if name not in known]
    with ThreadPoolExecutor(_FLUSHED_AT_ONCE) as pool:
        sums = dict(
            zip(fresh, pool.map(lambda name: checksum(directory / name, flush=must_survive), fresh), strict=True)
        )
    for folder in {(directory / name).parent for name in fresh} if must_survive else ():
        flush_directory(folder)
    flush_directory(directory)
    manifest.sizes = {name: (directory / name).stat().st_size for name in names}
    manifest.checksums = {name: sums.get(name, known.get(name, 0)) for name in names}
    save_document(directory / _MANIFEST, asdict(manifest))
    if before is not None:
        _keep_a_while(directory, _directories(before) - _directories(manifest))
    return RunStore(directory, manifest)


def sweep(directory: Path, manifest: Manifest | None, wanted: Iterable[str] = ()) -> None:
    """Remove what killed processes left, less what is ``wanted``, and runs replaced long ago. Only with the lock."""
    used = (_directories(manifest) if manifest else set()) | set(wanted)
    now = time.time()
    for entry in directory.iterdir():
        if entry.name in used or entry.name in (_MANIFEST, "lock"):
            continue
        with contextlib.suppress(FileNotFoundError):  # a draft that became a document
            if entry.name.startswith(TEMPORARY) or now - entry.stat().st_mtime > _KEEP_OLD_SECONDS:
                _remove(entry)


def discard(directory: Path, attempt: str, *, finished_too: bool = True) -> None:
    """Remove what one attempt to write has made."""
    for entry in directory.iterdir():
        if (finished_too and entry.name.endswith(f"-{attempt}")) or entry.name.startswith(f"{TEMPORARY}{attempt}-"):
            _remove(entry)


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)


def _directories(manifest: Manifest) -> set[str]:
    return {name.split("/")[0] for name in manifest.sizes}


def _keep_a_while(directory: Path, replaced: set[str]) -> None:
    """Their hour begins now, not when they were written."""
    for name in replaced:
        with contextlib.suppress(OSError):
            os.utime(directory / name)


def note_rows(notes: list[Note]) -> pl.DataFrame:
    """Rows of ``notes``."""
    fields: list[dict[str, Any]] = [
        {**asdict(note), "params": json.dumps(note.params, ensure_ascii=False)} for note in notes
    ]
    return schema.conform("notes", pl.DataFrame(fields)) if fields else schema.empty("notes")
