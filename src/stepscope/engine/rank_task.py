"""The work of one rank: read its source into a directory of tables. Pure, so that it can run anywhere."""

from __future__ import annotations

import contextlib
import gc
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stepscope.engine.finished_ranks import describe, finished_part
from stepscope.errors import UnreadableInputError, internal, is_panic
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.formats import READERS
from stepscope.store.fingerprint import fingerprint
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter, StoreWriteError
from stepscope.store.run_store import Part, note_rows, temporary_directory


@dataclass(frozen=True)
class RankTask:
    source: Source
    fingerprint: str
    store: Path  # the run's directory
    attempt: str  # unique, so that files of other attempts are not touched


def run(task: RankTask, on_read: Callable[[int], None] | None = None) -> Part:
    """Read the source; the tables lie in a directory named by rank, fingerprint and attempt afterwards."""
    began = time.perf_counter()
    rank = task.source.rank or 0
    final = task.store / f"rank-{rank}-{task.fingerprint}-{task.attempt}"
    if (before := finished_part(final)) is not None:
        return before  # by a worker that was lost before it could report
    try:
        work = temporary_directory(task.store, task.attempt)
    except OSError as error:
        raise _cannot_write(task, error) from error
    try:
        tables = _read(task, rank, work, on_read)
        part = Part(
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
        try:
            describe(part, work)
            work.rename(final)
        except OSError as error:
            if (before := finished_part(final)) is not None:  # by a worker that was only thought lost
                shutil.rmtree(work, ignore_errors=True)
                return before
            raise _cannot_write(task, error) from error
    except BaseException as error:
        shutil.rmtree(work, ignore_errors=True)
        if is_panic(error):  # which cannot be sent to other processes as it is
            raise internal(error) from None
        raise
    return part


def _read(task: RankTask, rank: int, work: Path, on_read: Callable[[int], None] | None) -> dict[str, dict[str, int]]:
    """Rows per file and table; the source must not have changed while it was read."""
    notes = Notes()
    writer = RankWriter(work, rank)
    path = str(task.source.path)
    try:
        with _no_garbage_collection():
            READERS[task.source.reader].read(Reading(task.source, writer, notes, on_read))
        unchanged = fingerprint(task.source.files) == task.fingerprint
    except StoreWriteError as error:
        raise _cannot_write(task, error.reason) from error
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=path, reason=error.strerror or str(error)) from error
    if not unchanged:
        raise UnreadableInputError("changed_while_read", path=path)
    try:
        writer.close()
        for table, count in writer.out_of_range.items():
            notes.add("rows_out_of_range", count=count, table=table)
        written = notes.all()
        for note in written:
            note.rank = rank
        writer.add("notes", note_rows(written))
        return writer.close()
    except StoreWriteError as error:
        raise _cannot_write(task, error.reason) from error


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
