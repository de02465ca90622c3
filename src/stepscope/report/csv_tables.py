"""An answer as CSV: one table per list in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.errors import UnreadableInputError
from stepscope.report.console import harmless

# What tells the entries of a list within a row whose they are.
_KEYS: Final = ("id", "rank", "step")


def tables(name: str, answer: Answer[Any]) -> dict[str, pl.DataFrame]:
    """Each list of entries, also within entries, as a frame of its own; single values under the question's name."""
    data = answer.plain()
    if isinstance(data, list):
        beside: dict[str, pl.DataFrame] = {}
        for key, rows in answer.plain_beside().items():
            beside |= _of_rows(f"{name}_{key}", rows)
        if isinstance(answer.data, pl.DataFrame) and not any(kind.is_nested() for kind in answer.data.dtypes):
            return {name: answer.data, **beside}
        return _of_rows(name, data) | beside
    by_name: dict[str, pl.DataFrame] = {}
    single = {}
    for key, value in data.items():
        if _is_table(value):
            by_name |= _of_rows(f"{name}_{key}", value)
        else:
            single[key] = value
    return by_name | (_of_rows(name, [single]) if single else {})


def _of_rows(name: str, rows: list[dict[str, Any]]) -> dict[str, pl.DataFrame]:
    """The rows, and what lists in them hold, with rank and step of the row."""
    within: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        own = {key: row[key] for key in _KEYS if key in row}
        for key, value in row.items():
            if _is_table(value):
                within.setdefault(key, []).extend(own | entry for entry in value)
    flat = [{key: _cell(value) for key, value in row.items() if key not in within} for row in rows]
    by_name = {name: pl.DataFrame(flat, infer_schema_length=None)}
    for key, entries in within.items():
        by_name |= _of_rows(f"{name}_{key}", entries)
    return by_name


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _cell(value: Any) -> Any:
    """Other nested values have no column in CSV: they are written as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def write(frames: dict[str, pl.DataFrame], directory: Path | None) -> list[Path]:
    """Files in a directory, or the first table on standard output; the files written."""
    if directory is None:
        table = next(iter(frames.values())).write_csv()
        sys.stdout.write(harmless(table) if sys.stdout.isatty() else table)  # a file gets every byte
        return []
    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for table, frame in frames.items():
            written.append(directory / f"{table}.csv")
            frame.write_csv(written[-1])
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadableInputError("cannot_write", path=str(error.filename or directory), reason=reason) from error
    return written
