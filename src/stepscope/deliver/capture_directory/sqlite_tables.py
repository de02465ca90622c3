"""Writing tables of a database."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Rows = list[tuple[Any, ...]]


class Texts:
    """Numbers distinct texts; the documents' tables refer to texts by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: Any) -> int:
        return self.numbers.setdefault("N/A" if text is None else str(text), len(self.numbers))


@contextlib.contextmanager
def new_database(path: Path) -> Iterator[sqlite3.Connection]:
    """An empty database, whole when the block ends."""
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    try:
        with database:
            yield database
    finally:
        database.close()


def write_table(database: sqlite3.Connection, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Create a table and fill it."""
    database.execute(f"CREATE TABLE {table} ({columns})")
    content = list(rows)
    if content:
        places = ", ".join("?" * len(content[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({places})", content)
