"""SQLite files opened so that they and their neighbours stay as they are; of damaged ones, what can be read."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.readers.sqlite.database import FAILURES, Database
from stepscope.readers.sqlite.header import MAGIC, SqliteSize, size_of
from stepscope.store.notes import Notes

__all__ = ["LOG_ENDING", "MAGIC", "files_of", "note_cut_neighbours", "open_database"]

LOG_ENDING: Final = "-wal"

_WAL_HEADER_BYTES: Final = 32
_COPY_ATTEMPTS: Final = 3
_MOST_NAMED: Final = 40


@contextlib.contextmanager
def open_database(path: Path, notes: Notes, with_log: bool = True) -> Iterator[Database]:
    """The database in ``path``, only to be read; the file and its neighbours are left untouched.

    Where a write-ahead log lies beside it, both are copied away and opened there, so that what stands in the log is
    seen; ``with_log=False`` looks at the file alone. A file that ends within a page is copied too, without that page.
    Of a damaged or cut file come the tables, and the rows of each, that lie before the damage; notes name the others.
    """
    size = _checked_size(path)
    if _beside(path, "-journal") and with_log:
        notes.add("db_journal_beside", file=path.name)
    with contextlib.ExitStack() as stack:
        address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        log = _log_bytes(path) if with_log else 0
        if log or size.whole_pages != size.actual:
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="stepscope-", ignore_cleanup_errors=True))
            )
            copy = _copy_of_pages(path, folder, size, bool(log))
            address = f"{copy.as_uri()}?{'mode=rw' if log else 'mode=ro&immutable=1'}"
        try:
            database = _opened(stack, address, path, size.actual + log, notes)
        except FAILURES as error:
            database = _opened_in_part(stack, address, path, size, log, notes, str(error))
        yield database


def files_of(path: Path) -> tuple[Path, ...]:
    """The database, and its write-ahead log where there is one."""
    log = path.with_name(path.name + LOG_ENDING)
    return (path, log) if _log_bytes(path) else (path,)


def note_cut_neighbours(files: Iterable[Path], notes: Notes) -> None:
    """Say which databases beside the files of a capture are cut off; for when another form of it is read."""
    for folder in sorted({file.parent for file in files}):
        try:
            beside = sorted(folder.glob("*.db"))
            sizes = {file: size for file in beside if file.is_file() and (size := size_of(file)) is not None}
        except OSError:
            continue
        for file, size in sizes.items():
            if size.is_cut and not _log_bytes(file):
                notes.add("db_beside_cut", file=file.name, found=size.actual, stated=max(size.stated, size.page))


def _opened(
    stack: contextlib.ExitStack, address: str, path: Path, size: int, notes: Notes, damaged: bool = False
) -> Database:
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    stack.callback(connection.close)
    return Database(connection, path, size, notes, damaged)


def _opened_in_part(
    stack: contextlib.ExitStack, address: str, path: Path, size: SqliteSize, log: int, notes: Notes, reason: str
) -> Database:
    """The database without the checks that refuse it as a whole, if it has a table that can be read."""
    try:
        database = _opened(stack, address, path, size.actual + log, notes, damaged=True)
    except FAILURES as error:
        raise UnreadableInputError("db_damaged", path=str(path), reason=str(error)) from error
    if not database.tables.keys() - database.lost:
        if size.is_cut:
            raise UnreadableInputError("db_cut_at_start", path=str(path), found=size.actual)
        raise UnreadableInputError("db_damaged", path=str(path), reason=reason)
    if size.is_cut:
        notes.add("db_cut", file=path.name, found=size.actual, stated=size.stated)
    else:
        notes.add("db_damaged_in_part", file=path.name, reason=reason)
    if database.lost:
        named = sorted(database.lost)
        more = f" (+ {len(named) - _MOST_NAMED})" if len(named) > _MOST_NAMED else ""
        notes.add("db_tables_lost", file=path.name, tables=", ".join(name[:80] for name in named[:_MOST_NAMED]) + more)
    notes.add("db_table_list_cut", file=path.name, count=int(database.list_is_cut))
    return database


def _checked_size(path: Path) -> SqliteSize:
    try:
        size = size_of(path)
        is_empty = path.stat().st_size == 0
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
    if size is None:
        raise UnreadableInputError("empty_file" if is_empty else "db_not_sqlite", path=str(path))
    if size.actual < size.page:
        raise UnreadableInputError("db_cut_at_start", path=str(path), found=size.actual)
    return size


def _copy_of_pages(path: Path, folder: Path, size: SqliteSize, with_log: bool) -> Path:
    """A copy of the whole pages of a database, and of its log, that belong together; a writer may be at work."""
    copy = folder / "copy.db"
    log = path.with_name(path.name + LOG_ENDING)
    try:
        for _ in range(_COPY_ATTEMPTS):
            before = _state(path), _state(log) if with_log else None
            shutil.copyfile(path, copy)
            copied = copy.stat().st_size
            os.truncate(copy, copied - copied % size.page if size.page else copied)
            if with_log:
                shutil.copyfile(log, copy.with_name(copy.name + LOG_ENDING))  # the -shm file is only an index of it
            if before == (_state(path), _state(log) if with_log else None):
                break
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
    return copy


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _log_bytes(path: Path) -> int:
    """Size of the write-ahead log; 0 where there is none with content."""
    size = _beside(path, LOG_ENDING)
    return size if size > _WAL_HEADER_BYTES else 0


def _beside(path: Path, ending: str) -> int:
    try:
        return path.with_name(path.name + ending).stat().st_size
    except OSError:
        return 0
