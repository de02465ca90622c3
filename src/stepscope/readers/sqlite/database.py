"""The tables of an opened SQLite file, read column by column, whatever stands in them.

A profiler's database may be half-written, edited by a viewer, or made by somebody who wants to do harm. So only plain
tables are read: no views, no virtual tables, no computed columns. Nothing is sorted, joined or evaluated inside SQLite,
no index is used, because it may be damaged where its table is not, and a table that has more rows than its file can
hold is cut off.
"""

from __future__ import annotations

import contextlib
import decimal
import math
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.store.notes import Notes

#: The module itself stumbles over names and messages that are no text.
FAILURES: Final = (sqlite3.Error, UnicodeDecodeError)

_ROWS_AT_ONCE: Final = 1 << 16
_LEAST_BYTES_PER_ROW: Final = 6  # an entry of the page's directory and the smallest cell
_LONGEST_TEXT: Final = 1 << 20
_OPERATIONS_BETWEEN_CHECKS: Final = 1_000_000
_PATIENCE_S: Final = 30.0
_SLOWEST_BYTES_PER_S: Final = 1 << 20
_MOST_TABLES: Final = 5_000


class Database:
    """An opened file: its plain tables, and their content as frames. Made by ``open_database``."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, size: int, notes: Notes, damaged: bool = False
    ) -> None:
        self.path = path
        self.file = path.name
        self.notes = notes
        self._connection = connection
        self._size = size
        self._deadline = time.monotonic() + _PATIENCE_S
        self._texts_cut = 0
        connection.text_factory = self._text
        connection.set_progress_handler(self._is_late, _OPERATIONS_BETWEEN_CHECKS)
        # The last one lets SQLite open a file whose size or root pages are not what its header says.
        for setting in ("query_only=1", "trusted_schema=0", "cell_size_check=1", f"writable_schema={int(damaged)}"):
            connection.execute(f"PRAGMA {setting}")
        self.is_damaged = damaged
        self.list_is_cut = False  # there may have been further tables
        rows = self._listed()
        #: Plain tables by name; what only has the name of one (a view, a virtual table) is in ``pretenders``.
        self.tables = {
            str(name): None for name, kind, root in rows if kind == "table" and isinstance(root, int) and root
        }
        self.pretenders = {str(name) for name, kind, root in rows if kind in ("table", "view") and not root}
        self.own_texts: dict[str, int] = {}
        self._columns: dict[str, dict[str, str]] = {}
        #: Tables of which not even the first row can be reached.
        self.lost = {table for table in self.tables if not self._is_reachable(table)} if damaged else set[str]()

    def columns(self, table: str) -> dict[str, str]:
        """Stored columns of a table, by name in lower case; computed ones are left out."""
        if table not in self._columns:
            self._columns[table] = self._stored_columns(table) if table in self.tables else {}
        return self._columns[table]

    def _stored_columns(self, table: str) -> dict[str, str]:
        names: dict[str, str] = {}
        with contextlib.suppress(*FAILURES):
            for row in self._connection.execute(f"PRAGMA main.table_xinfo({_quoted(table)})"):
                is_computed = row[6] != 0
                if not is_computed:
                    names.setdefault(str(row[1]).lower(), str(row[1]))
        return names

    def has_rows(self, table: str) -> bool:
        """Whether a table is there and has a first row."""
        if table not in self.tables:
            return False
        self._be_patient()
        try:
            return self._first(table) is not None
        except FAILURES:
            return False

    def count(self, table: str) -> int:
        """How many rows a table has, as far as they can be counted."""
        self._be_patient()
        counted = 0
        with contextlib.suppress(*FAILURES):
            cursor = self._connection.execute(f"SELECT 1 FROM main.{_quoted(table)} NOT INDEXED")
            while (rows := len(cursor.fetchmany(_ROWS_AT_ONCE))) and counted * _LEAST_BYTES_PER_ROW <= self._size:
                counted += rows
        return counted

    def frame(
        self,
        table: str,
        integers: Sequence[str] = (),
        reals: Sequence[str] = (),
        texts: Sequence[str] = (),
        ids: Sequence[str] = (),
    ) -> pl.DataFrame:
        """The rows of a table, in file order, with just the columns asked for, by name.

        Numbers written as text become numbers; what is no number becomes null, and so does a column that the table
        lacks. A table that is missing gives no rows. ``ids`` refer to texts; where the text itself stands there, it
        gets a number of its own in ``own_texts``. A renamed column is asked for as ``old|new`` and comes as ``old``.
        """
        return pl.concat(self.pieces(table, integers, reals, texts, ids))

    def pieces(
        self,
        table: str,
        integers: Sequence[str] = (),
        reals: Sequence[str] = (),
        texts: Sequence[str] = (),
        ids: Sequence[str] = (),
    ) -> Iterator[pl.DataFrame]:
        """The same in pieces, of which the first is empty, for tables that are better not held whole."""
        kinds: dict[str, Any] = dict.fromkeys((*integers, *ids), pl.Int64)
        kinds |= dict.fromkeys(reals, pl.Float64) | dict.fromkeys(texts, pl.String)
        schema = {name.split("|")[0]: kind for name, kind in kinds.items()}
        id_columns = {name.split("|")[0] for name in ids}
        stored = self.columns(table)
        name_in_table = {
            name.split("|")[0]: stored[spelling]
            for name in kinds
            for spelling in reversed(name.lower().split("|"))
            if spelling in stored
        }
        yield pl.DataFrame(schema=schema)
        if not name_in_table:
            return
        # SQLite takes a quoted name that is no column for a text, so only existing columns are named.
        query = f"SELECT {', '.join(map(_quoted, name_in_table.values()))} FROM main.{_quoted(table)} NOT INDEXED"
        missing = [pl.lit(None, dtype=kind).alias(name) for name, kind in schema.items() if name not in name_in_table]
        for rows in self._rows(table, query):
            columns = [
                self._ids(name, values)
                if name in id_columns
                else _texts(name, values)
                if schema[name] == pl.String
                else pl.Series(name, values, schema[name], strict=False)
                for name, values in zip(name_in_table, zip(*rows, strict=True), strict=True)
            ]
            frame = pl.DataFrame(columns)
            yield frame.with_columns(missing).select(list(schema)) if missing else frame
        self.notes.add("db_text_cut", file=self.file, table=table, count=self._texts_cut, limit=_LONGEST_TEXT)
        self._texts_cut = 0

    def _rows(self, table: str, query: str) -> Iterator[list[tuple[Any, ...]]]:
        """Rows in pieces; at a damaged place they end, with a note, and those before it are kept."""
        self._be_patient()
        read = 0
        try:
            cursor = self._connection.execute(query)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                read += len(rows)
                if read * _LEAST_BYTES_PER_ROW > self._size:
                    raise sqlite3.DatabaseError("more rows than the file can hold")
                yield rows
        except FAILURES as error:
            last = self._until_damage(query, read)
            if last:
                yield last
            if table not in self.lost:  # those were named when the file was opened
                whole = read + len(last)
                self.notes.add("db_table_damaged", file=self.file, table=table, rows=whole, reason=str(error))

    def _listed(self) -> list[tuple[Any, ...]]:
        """Name, kind and root page of tables and the like; of a damaged file, as far as they can be reached."""
        query = "SELECT name, type, rootpage FROM sqlite_master"
        try:
            return self._connection.execute(query).fetchmany(_MOST_TABLES)
        except FAILURES:
            if not self.is_damaged:
                raise
            self.list_is_cut = True
        return self._until_damage(query, 0)[:_MOST_TABLES]

    def _is_reachable(self, table: str) -> bool:
        self._be_patient()
        try:
            self._first(table)
        except FAILURES:
            return False
        return True

    def _first(self, table: str) -> Any:
        return self._connection.execute(f"SELECT 1 FROM main.{_quoted(table)} NOT INDEXED LIMIT 1").fetchone()

    def _until_damage(self, query: str, known: int) -> list[tuple[Any, ...]]:
        """The rows between the last whole piece and the damage, one by one."""
        rows: list[tuple[Any, ...]] = []
        with contextlib.suppress(*FAILURES):
            for number, row in enumerate(self._connection.execute(query)):
                if number >= known + _ROWS_AT_ONCE:
                    return rows
                if number >= known:
                    rows.append(row)
        # The module gives a row only after a look at the next one, so the last row is asked for by itself.
        with contextlib.suppress(*FAILURES):
            rows += self._connection.execute(f"{query} LIMIT 1 OFFSET {known + len(rows)}").fetchall()
        return rows

    def _ids(self, name: str, column: tuple[Any, ...]) -> pl.Series:
        try:
            return pl.Series(name, column, dtype=pl.Int64)
        except TypeError:
            return pl.Series(name, [self._id(value) for value in column], dtype=pl.Int64)

    def _id(self, value: Any) -> int | None:
        if isinstance(value, str) and not (value.isascii() and value.isdecimal() and len(value) < 19):
            return self.own_texts.setdefault(value, -2 - len(self.own_texts))
        return int(value) if isinstance(value, (int, str)) else None

    def _text(self, raw: bytes) -> str:
        if len(raw) > _LONGEST_TEXT:
            self._texts_cut += 1
            raw = raw[:_LONGEST_TEXT]
        return raw.decode("utf-8", "replace")

    def _be_patient(self) -> None:
        self._deadline = time.monotonic() + _PATIENCE_S + self._size / _SLOWEST_BYTES_PER_S

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline


def _texts(name: str, column: tuple[Any, ...]) -> pl.Series:
    try:
        return pl.Series(name, column, dtype=pl.String)
    except TypeError:
        return pl.Series(name, [_as_text(value) for value in column], dtype=pl.String)


def _as_text(value: Any) -> str | None:
    """A number with all its digits: the shortest text of a float is less than what is stored."""
    if isinstance(value, float) and math.isfinite(value):
        return format(decimal.Decimal(value), "f")
    return None if value is None or isinstance(value, bytes) else str(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
