"""SQLite files opened so that they and their neighbours stay as they are."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.readers.ascend.database import FAILURES, Database
from stepscope.store.notes import Notes

MAGIC: Final = b"SQLite format 3\0"
LOG_ENDING: Final = "-wal"

_WAL_HEADER_BYTES: Final = 32
_COPY_ATTEMPTS: Final = 3


@contextlib.contextmanager
def open_database(path: Path, notes: Notes, with_log: bool = True) -> Iterator[Database]:
    """The database in ``path``, only to be read; the file and its neighbours are left untouched.

    Where a write-ahead log lies beside it, both are copied away and opened there, so that what stands in the log is
    seen; ``with_log=False`` looks at the file alone.
    """
    size = _checked_size(path)
    if _beside(path, "-journal") and with_log:
        notes.add("db_journal_beside", file=path.name)
    with contextlib.ExitStack() as stack:
        address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        if with_log and _log_bytes(path):
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="stepscope-", ignore_cleanup_errors=True))
            )
            address = f"{_copy_with_log(path, folder).as_uri()}?mode=rw"
            size += _log_bytes(path)
        try:
            connection = sqlite3.connect(address, uri=True, isolation_level=None)
            stack.callback(connection.close)
            database = Database(connection, path, size, notes)
        except FAILURES as error:
            raise UnreadableInputError("db_damaged", path=str(path), reason=str(error)) from error
        yield database


def files_of(path: Path) -> tuple[Path, ...]:
    """The database, and its write-ahead log where there is one."""
    log = path.with_name(path.name + LOG_ENDING)
    return (path, log) if _log_bytes(path) else (path,)


def _checked_size(path: Path) -> int:
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
        size = path.stat().st_size
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
    if not head:
        raise UnreadableInputError("empty_file", path=str(path))
    if head != MAGIC:
        raise UnreadableInputError("db_not_sqlite", path=str(path))
    return size


def _copy_with_log(path: Path, folder: Path) -> Path:
    """A copy of database and log that belong together; a writer may be at work meanwhile."""
    copy = folder / "copy.db"
    log = path.with_name(path.name + LOG_ENDING)
    try:
        for _ in range(_COPY_ATTEMPTS):
            before = _state(path), _state(log)
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name(copy.name + LOG_ENDING))  # the -shm file is only an index of it
            if before == (_state(path), _state(log)):
                break
    except OSError as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=error.strerror or str(error)) from error
    return copy


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _log_bytes(path: Path) -> int:
    """Size of the write-ahead log; 0 where there is none with content."""
    size = _beside(path, LOG_ENDING)
    return size if size > _WAL_HEADER_BYTES else 0


def _beside(path: Path, ending: str) -> int:
    try:
        return path.with_name(path.name + ending).stat().st_size
    except OSError:
        return 0
