"""Tables of rocprofv3: one csv per kind of record, with a header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import read_csv
from stepscope.readers.rocprof.records import RECORD, copy_name, rows_of_records
from stepscope.readers.slices.track_numbers import TrackNumbers

Row = dict[str, str]


def _kernel(row: Row) -> tuple[Any, ...]:
    return row.get("Kernel_Name"), "kernel", row.get("Agent_Id"), row.get("Stream_Id") or row.get("Queue_Id"), None


def _copy(row: Row) -> tuple[Any, ...]:
    agent = row.get("Destination_Agent_Id") if "TO_DEVICE" in row.get("Direction", "") else row.get("Source_Agent_Id")
    return copy_name(row.get("Direction", "")), "copy", agent, 0, row.get("Bytes")


def _call(row: Row) -> tuple[Any, ...]:
    return row.get("Function"), "runtime", f"process {row.get('Process_Id')}", row.get("Thread_Id"), None


def _marker(row: Row) -> tuple[Any, ...]:
    return row.get("Function"), "annotation", f"process {row.get('Process_Id')}", row.get("Thread_Id"), None


#: By the ending of the name: name, kind, place, lane and bytes of a row.
TABLES: Final[dict[str, Callable[[Row], tuple[Any, ...]]]] = {
    "kernel_trace": _kernel,
    "memory_copy_trace": _copy,
    "hip_api_trace": _call,
    "hip_runtime_api_trace": _call,
    "marker_api_trace": _marker,
}


def rows_of_tables(
    files: Iterable[Path], tracks: TrackNumbers, reading: Reading
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Rows of a timeline from all tables of a process, and what they tell of the rank."""
    records = []
    for path in files:
        table = next((name for name in TABLES if path.name.endswith(f"{name}.csv")), None)
        if table is not None:
            records += list(_records(path, TABLES[table], reading))
    frame = pl.DataFrame(records, schema=RECORD, orient="row", strict=False)
    return rows_of_records(frame, tracks), {}


def _records(path: Path, described: Callable[[Row], tuple[Any, ...]], reading: Reading) -> Iterator[tuple[Any, ...]]:
    wrong = 0
    table = read_csv(path, reading.unobserved())  # all is told at the end
    for row in table.records() if table else ():
        start, end = _integer(row.get("Start_Timestamp")), _integer(row.get("End_Timestamp"))
        name, kind, place, lane, size = described(row)
        if start is None or end is None or name is None:
            wrong += 1
            continue
        where = f"GPU {str(place).removeprefix('Agent ')}" if kind in ("kernel", "copy") else place
        correlation = _integer(row.get("Correlation_Id"))
        yield start, end, name, kind, where, _integer(lane), _integer(size), correlation
    reading.notes.add("rocprof_rows_unreadable", file=path.name, count=wrong)


def _integer(value: Any) -> int | None:
    text = str(value).strip() if value is not None else ""
    return int(text) if text.isdecimal() and len(text) < 19 else None
