"""The line files of a capture, in whatever state a killed job left them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.readers.files.reading import Reading

Schema = Mapping[str, Any]


def read_lines(path: Path, schema: Schema, required: tuple[str, ...], reading: Reading) -> pl.DataFrame:
    """One row per line, in the order of the file; what is no record, or lacks a required value, is noted."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return pl.DataFrame(schema=schema)
    except OSError as error:
        reading.notes.add("capture_file_unreadable", file=path.name, reason=error.strerror or str(error))
        return pl.DataFrame(schema=schema)
    reading.took(len(raw))
    whole = raw.rfind(b"\n") + 1
    if whole < len(raw):
        reading.notes.add("capture_line_cut", file=path.name)
    lines = [line for line in raw[:whole].split(b"\n") if line.strip()]
    parts = _parsed(lines, schema)
    rows = pl.concat(parts) if parts else pl.DataFrame(schema=schema)
    good = rows.drop_nulls(required) if required else rows
    reading.notes.add("capture_lines_dropped", file=path.name, count=len(lines) - good.height)
    return good


def _parsed(lines: list[bytes], schema: Schema) -> list[pl.DataFrame]:
    """Halves what cannot be read until the bad lines stand alone; good files are read in one go."""
    if not lines:
        return []
    try:
        return [pl.read_ndjson(io.BytesIO(b"\n".join(lines)), schema=dict(schema))]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        if len(lines) == 1:
            return []
    half = len(lines) // 2
    return _parsed(lines[:half], schema) + _parsed(lines[half:], schema)
