"""What rocprofv3 writes on AMD GPUs: ``--output-format json`` (one file) or ``csv`` (a file per kind of record)."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source, named_rank
from stepscope.readers.files.reading import Reading
from stepscope.readers.rocprof.csv_files import TABLES, rows_of_tables
from stepscope.readers.rocprof.json_file import KEY, rows_of_document
from stepscope.readers.slices.table_timeline import timeline_of_rows, write_timeline
from stepscope.readers.slices.track_numbers import TrackNumbers

__all__ = ["claim", "claim_file", "read"]

READER: Final = "rocprof"
_TABLE: Final = re.compile(rf"(?P<worker>.*?)_?(?P<table>{'|'.join(TABLES)})\.csv")


def claim(directory: Path, _folders: list[str], files: list[str]) -> list[Source] | None:
    """The processes of a directory with tables of rocprofv3, if one of them has kernels."""
    tables: dict[str, list[Path]] = defaultdict(list)
    for name in sorted(files):
        if match := _TABLE.fullmatch(name):
            tables[match["worker"]].append(directory / name)
    sources = [_source(worker, paths) for worker, paths in tables.items()]
    return [source for source in sources if source is not None] or None


def claim_file(path: Path, head: bytes) -> Source | None:
    """A document of rocprofv3, or the table of kernels with those beside it."""
    if KEY.encode() in head and head.lstrip().startswith(b"{"):
        return Source(path, READER, named_rank(path), (path,))
    match = _TABLE.fullmatch(path.name)
    if match is None or match["table"] != "kernel_trace":
        return None
    beside = sorted(path.parent.glob("*.csv"))
    return _source(
        match["worker"],
        [file for file in beside if (own := _TABLE.fullmatch(file.name)) and own["worker"] == match["worker"]],
    )


def read(reading: Reading) -> None:
    """Read one process into the tables of its rank."""
    path, tracks = reading.source.path, TrackNumbers()
    if path.suffix == ".csv":
        rows, about = rows_of_tables(reading.source.files, tracks, reading)
    else:
        rows, about = rows_of_document(path, tracks, reading)
    if rows.is_empty():
        raise UnreadableInputError("no_events", path=str(path))
    timeline = timeline_of_rows(rows, 0, reading.notes, path.name)
    device_kind: dict[str, Any] = {"device_kind": "gpu" if timeline.device_work.any() else "cpu"}
    write_timeline(timeline, device_kind | about | {"clock_base_ns": 0, "source": str(path)}, reading)
    reading.out.add("tracks", tracks.frame() if rows.height else pl.DataFrame())
    reading.took(reading.source.bytes)


def _source(worker: str, files: list[Path]) -> Source | None:
    kernels = next((file for file in files if file.name.endswith("kernel_trace.csv")), None)
    return (
        None if kernels is None else Source(kernels, READER, named_rank(kernels), tuple(files), worker=worker or None)
    )
