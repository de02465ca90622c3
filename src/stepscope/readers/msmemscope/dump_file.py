"""Rows of a dump, from csv or from SQLite, in batches of text columns with one set of names."""

from __future__ import annotations

import csv
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.files.raw_bytes import blocks
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.repair import clean_text
from stepscope.readers.sqlite.header import SIZE_IN_PAGES_AT, SqliteSize, size_of
from stepscope.store.notes import Notes

SQLITE_MAGIC: Final = b"SQLite format 3\0"
DUMP_TABLE: Final = re.compile(r"(?:memscope|leaks)_dump$", re.IGNORECASE)
TRACE_TABLE: Final = re.compile(r"python_trace(?:_\d+)?$", re.IGNORECASE)

#: Our names of the columns, by the names in the files, in small letters.
DUMP_COLUMNS: Final = {
    "id": "id",
    "event": "event",
    "event type": "type",
    "name": "name",
    "timestamp(ns)": "time",
    "timestamp(us)": "time_us",
    "process id": "pid",
    "thread id": "tid",
    "device id": "device",
    "ptr": "ptr",
    "attr": "attr",
    "call stack(python)": "python_stack",
    "call stack(c)": "c_stack",
}
TRACE_COLUMNS: Final = {
    "funcinfo": "name",
    "starttime(ns)": "start",
    "endtime(ns)": "end",
    "thread id": "tid",
    "process id": "pid",
}

# SQLite puts damaged text even into its own messages.
_UNREADABLE: Final = (sqlite3.Error, OSError, OverflowError, UnicodeDecodeError)
_ROWS_AT_ONCE: Final = 1 << 16
_LARGEST_FIELD: Final = 1 << 20  # a stack of 1000 frames has a tenth of it
_MOST_COLUMNS: Final = 1_000  # the tools write 13
_LARGEST_RECORD: Final = 64 << 20


def rows(path: Path, wanted: dict[str, str], reading: Reading) -> Iterator[pl.DataFrame]:
    """Batches of the file's dump or trace rows; ``wanted`` is one of the tables of columns above."""
    with path.open("rb") as file:
        is_database = file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    if is_database:
        reading.took(path.stat().st_size)
        yield from _from_database(path, wanted, reading.notes)
    else:
        yield from _from_csv(path, wanted, reading)


def tables(path: Path) -> list[str]:
    """Names of the tables of a database; none if it is not one."""
    try:
        with closing(_connect(path)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except _UNREADABLE:
        return []
    return [str(name) for (name,) in names]


def columns_of(header: list[str], wanted: dict[str, str]) -> list[str | None]:
    """Our name for each column of a header, None for those that we do not know."""
    seen: set[str] = set()
    names: list[str | None] = []
    for column in header:
        name = wanted.get(column.strip().strip("\ufeff").strip('"').lower())
        names.append(None if name in seen else name)
        seen.update((name,) if name else ())
    return names


def _from_csv(path: Path, wanted: dict[str, str], reading: Reading) -> Iterator[pl.DataFrame]:
    pieces = _pieces(blocks(path, reading.notes, reading.on_read), path.name, reading.notes)
    line, _, first = next(pieces, b"").partition(b"\n")
    header = _header(line)
    names = columns_of(header, wanted)
    if len(names) > _MOST_COLUMNS or "name" not in names or not {"event", "start"} & set(names):
        raise UnreadableInputError("msmemscope_no_header", path=str(path))
    for name, known in zip(header, names, strict=True):
        if known is None and name.strip():
            reading.notes.add("msmemscope_column_ignored", file=path.name, column=clean_text(name.strip()[:80]))
    for piece in chain([first], pieces):
        if piece.strip():
            yield from _parsed(piece, names, reading.notes, path.name)


def _header(line: bytes) -> list[str]:
    """The names in the first line; none where it is no line of names."""
    try:
        return next(csv.reader([line.decode("utf-8", "replace").rstrip("\r")]), [])
    except csv.Error:
        return []


def _pieces(chunks: Iterable[bytes], file: str, notes: Notes) -> Iterator[bytes]:
    """The file cut at ends of lines that lie outside quotes; half a line at its end is left out."""
    data = b""
    for block in chunks:
        data += block
        cut = data.rfind(b"\n")
        if data.count(b'"', 0, max(cut, 0)) % 2:
            cut = data.rfind(b"\n", 0, data.rfind(b'"', 0, cut))
        if cut >= 0 or len(data) > _LARGEST_RECORD:
            yield data[: cut + 1] or data
            data = data[cut + 1 :] if cut >= 0 else b""
    whole = data.rfind(b"\n") + 1
    if data[whole:].strip():
        notes.add("last_line_cut", file=file)
    if whole:
        yield data[:whole]


def _parsed(piece: bytes, names: list[str | None], notes: Notes, file: str) -> Iterator[pl.DataFrame]:
    """Fast where the text is as it should be, else record by record."""
    columns = {name or f"unknown {index}": pl.String() for index, name in enumerate(names)}
    known = [name for name in names if name is not None]
    try:
        frame = pl.read_csv(piece, has_header=False, schema=columns, encoding="utf8-lossy", raise_if_empty=False)
    except pl.exceptions.PolarsError:
        records = _records(piece, names, notes, file)
        while batch := list(islice(records, _ROWS_AT_ONCE)):
            yield _frame(batch, names).select(known)
    else:
        yield frame.select(known)


def _records(piece: bytes, names: list[str | None], notes: Notes, file: str) -> Iterator[list[str]]:
    """Records as the csv module sees them; after a quote that never ends it goes on at the next line."""
    csv.field_size_limit(_LARGEST_FIELD)
    lines = iter([line + "\n" for line in piece.decode("utf-8", "replace").replace("\0", "").split("\n")])
    free_text = names.index("name")
    while True:
        try:
            for row in csv.reader(lines):
                surplus = len(row) - len(names)
                if surplus > 0:  # a name with commas that nobody quoted
                    row[free_text : free_text + surplus + 1] = [",".join(row[free_text : free_text + surplus + 1])]
                if row:
                    yield row + [""] * -surplus
            return
        except csv.Error:
            notes.add("msmemscope_row_dropped", file=file)


def _from_database(path: Path, wanted: dict[str, str], notes: Notes) -> Iterator[pl.DataFrame]:
    pattern = DUMP_TABLE if wanted is DUMP_COLUMNS else TRACE_TABLE
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(_connect(_intact(path, Path(folder)))) as connection,
        ):
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in names:
                if pattern.match(str(table)):
                    yield from _from_table(connection, str(table), wanted)
    except _UNREADABLE as error:
        notes.add("msmemscope_database_damaged", file=path.name, reason=clean_text(str(error)[:200]))


def _from_table(connection: sqlite3.Connection, table: str, wanted: dict[str, str]) -> Iterator[pl.DataFrame]:
    quoted = table.replace('"', '""')
    header = [str(row[1]) for row in connection.execute(f'PRAGMA table_info("{quoted}")')]
    names = columns_of(header, wanted)
    known = [(column, name) for column, name in zip(header, names, strict=True) if name is not None]
    if not known:
        return
    fields = ", ".join('CAST("{}" AS TEXT)'.format(column.replace('"', '""')) for column, _ in known)
    cursor = connection.execute(f'SELECT {fields} FROM "{quoted}" ORDER BY rowid')
    for batch in _batches(cursor):
        yield _frame(batch, [name for _, name in known])


def _batches(cursor: sqlite3.Cursor) -> Iterator[list[Any]]:
    """All rows; of a damaged table those before the damage, which is raised behind them."""
    batch: list[Any] = []
    damage: Exception | None = None
    try:
        for row in cursor:
            batch.append(row)
            if len(batch) == _ROWS_AT_ONCE:
                yield batch
                batch = []
    except _UNREADABLE as error:
        damage = error
    if batch:
        yield batch
    if damage is not None:
        raise damage


def _connect(path: Path) -> sqlite3.Connection:
    """Read-only, and so that SQLite writes nothing beside the file either."""
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _intact(path: Path, folder: Path) -> Path:
    """The file itself; a copy of it, where a killed process left a write-ahead log or it ends within a page."""
    journal = path.with_name(path.name + "-wal")
    has_journal = journal.exists() and journal.stat().st_size > 0
    size = size_of(path)
    half_a_page = size.actual - size.whole_pages if size is not None else 0
    if not has_journal and not half_a_page:
        return path
    copy = folder / "dump.db"
    shutil.copyfile(path, copy)
    if size is not None and half_a_page:
        _cut_to_whole_pages(copy, size)
    if has_journal:
        shutil.copyfile(journal, folder / "dump.db-wal")
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return copy


def _cut_to_whole_pages(copy: Path, size: SqliteSize) -> None:
    """SQLite would read zeros for the rest of a page, and nothing of a file that is shorter than its header says."""
    with copy.open("r+b") as file:
        file.truncate(size.whole_pages)
        file.seek(SIZE_IN_PAGES_AT)
        file.write((size.whole_pages // size.page).to_bytes(4, "big"))


def _frame(batch: list[Any], names: list[str | None]) -> pl.DataFrame:
    values = zip(*batch, strict=True)
    return pl.DataFrame(
        {
            name: pl.Series(column, dtype=pl.String)
            for name, column in zip(names, values, strict=True)
            if name is not None
        }
    )
