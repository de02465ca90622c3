"""An answer as CSV: one table per list in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.analysis.answer import Answer


def tables(name: str, answer: Answer[Any]) -> dict[str, pl.DataFrame]:
    """Each list of entries as a frame of its own; single values together under the question's name."""
    data = answer.plain()
    if isinstance(data, list):
        flat = isinstance(answer.data, pl.DataFrame) and not any(kind.is_nested() for kind in answer.data.dtypes)
        return {name: answer.data if flat else pl.DataFrame(_flat(data), infer_schema_length=None)}
    found: dict[str, pl.DataFrame] = {}
    single = {}
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            found[f"{name}_{key}"] = pl.DataFrame(_flat(value), infer_schema_length=None)
        else:
            single[key] = value
    if single:
        found[name] = pl.DataFrame(_flat([single]), infer_schema_length=None)
    return found


def _flat(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nested values have no column in CSV: they are written as JSON."""
    return [
        {
            key: json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
            for key, value in row.items()
        }
        for row in rows
    ]


def write(name: str, answer: Answer[Any], directory: Path | None) -> list[Path]:
    """Files in a directory, or the first table on standard output; the files written."""
    frames = tables(name, answer)
    if directory is None:
        sys.stdout.write(next(iter(frames.values())).write_csv())
        return []
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for table, frame in frames.items():
        path = directory / f"{table}.csv"
        frame.write_csv(path)
        written.append(path)
    return written
