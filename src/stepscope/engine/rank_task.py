"""The work of one rank: read its source into a directory of tables. Pure, so that it can run anywhere."""

from __future__ import annotations

import contextlib
import gc
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stepscope.errors import StepscopeError, UnreadableInputError
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.formats import READERS
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter
from stepscope.store.run_store import Part, note_rows, publish, temporary_directory


@dataclass(frozen=True)
class RankTask:
    source: Source
    fingerprint: str
    store: Path  # the run's directory


def run(task: RankTask, on_read: Callable[[int], None] | None = None) -> Part:
    """Read the source; the tables lie in a directory named by rank and fingerprint afterwards."""
    began = time.perf_counter()
    rank = task.source.rank or 0
    notes = Notes()
    try:
        work = temporary_directory(task.store)
    except OSError as error:
        raise _cannot_write(task, error) from error
    try:
        writer = RankWriter(work, rank)
        with _no_garbage_collection():
            READERS[task.source.reader].read(Reading(task.source, writer, notes, on_read))
        written = notes.all()
        for note in written:
            note.rank = rank
        writer.add("notes", note_rows(written))
        tables = writer.close()
        final = task.store / f"rank-{rank}-{task.fingerprint}"
        shutil.rmtree(final, ignore_errors=True)  # left by a process that was killed before its manifest
        publish(work, final)
    except StepscopeError:
        shutil.rmtree(work, ignore_errors=True)
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        shutil.rmtree(work, ignore_errors=True)
        raise _cannot_write(task, error) from error
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return Part(
        rank=rank,
        source=str(task.source.path),
        reader=task.source.reader,
        fingerprint=task.fingerprint,
        tables={
            table: {f"{final.name}/{name}": rows for name, rows in files.items()} for table, files in tables.items()
        },
        events=sum(tables.get("slices", {}).values()),
        bytes=task.source.bytes,
        seconds=time.perf_counter() - began,
    )


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Readers make millions of short-lived objects and no cycles; looking for cycles is time lost."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _cannot_write(task: RankTask, error: Exception) -> UnreadableInputError:
    reason = getattr(error, "strerror", None) or str(error)
    return UnreadableInputError("cannot_write_store", store=str(task.store), reason=reason)
