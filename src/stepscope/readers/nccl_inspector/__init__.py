"""Logs of NCCL's inspector plugin: one JSON object per line and collective call, one file per process.

A call has its communicator, its number there, its size and how long it took. When it began is recorded in verbose logs
only; else its end is taken to be when it was written. Calls below 8 KiB are not recorded by default.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.raw_bytes import blocks as bytes_of
from stepscope.readers.files.reading import Reading
from stepscope.readers.reader import claims_no_directory as claim
from stepscope.readers.slices.call_log import CALL, write_call_log
from stepscope.readers.slices.collective_names import collective_kind

__all__ = ["claim", "claim_file", "read"]

_READER: Final = "nccl_inspector"
_KEYS: Final = (b'"coll_perf"', b'"header"', b'"metadata"')


class _Header(msgspec.Struct):
    id: str
    rank: int
    n_ranks: int
    nnodes: int = 0


class _Metadata(msgspec.Struct):
    dump_timestamp_us: int
    hostname: str | None = None
    pid: int | None = None


class _Kernel(msgspec.Struct):
    kernel_start_ts: int | None = None
    kernel_stop_ts: int | None = None


class _Times(msgspec.Struct):
    kernel_events: list[_Kernel] = []


class _Performance(msgspec.Struct):
    coll: str
    coll_sn: int
    coll_msg_size_bytes: int
    coll_exec_time_us: float
    coll_algobw_gbs: float | None = None
    coll_busbw_gbs: float | None = None
    coll_timing_source: str | None = None
    event_trace_ts: _Times | None = None


class _Line(msgspec.Struct):
    header: _Header
    metadata: _Metadata
    coll_perf: _Performance


_LINE: Final = msgspec.json.Decoder(_Line)


def claim_file(path: Path, first: bytes) -> Source | None:
    """By the keys of the first line. The rank of the job is the one in the largest communicator."""
    if first.lstrip()[:1] != b"{" or not all(key in first for key in _KEYS):
        return None
    headers = [line.header for line in _decoded(first.splitlines()) if line is not None]
    if not headers:
        return None
    largest = max(headers, key=lambda header: header.n_ranks)
    return Source(path, _READER, largest.rank, (path,), world_size=largest.n_ranks)


def read(reading: Reading) -> None:
    """Read the log of one process."""
    path = reading.source.path
    rows, dropped, host = [], 0, None
    groups: dict[str, _Header] = {}
    for number, line in enumerate(_decoded(_lines(reading))):
        if line is None:
            dropped += 1
            continue
        host = line.metadata.hostname or host
        groups[line.header.id] = line.header
        rows.append(_call(number, line))
    reading.notes.add("nccl_inspector_lines_unreadable", file=path.name, count=dropped)
    if not rows:
        raise UnreadableInputError("no_events", path=str(path))
    if not any(row["exact"] for row in rows):
        reading.notes.add("nccl_inspector_times", file=path.name)
    calls = pl.DataFrame([{name: row[name] for name in CALL} for row in rows], schema=CALL)
    world = max(header.n_ranks for header in groups.values())
    write_call_log(calls, {"host": host, "device_kind": "gpu", "world_size": world}, reading)
    named = [{"group": each.id, "name": f"{each.n_ranks} ranks, {each.nnodes} nodes"} for each in groups.values()]
    reading.out.add("groups", pl.DataFrame(named).with_columns(origin=pl.lit("nccl_inspector")))
    reading.out.add("reported", _reported(rows, path.name))
    reading.took(reading.source.bytes)


def _lines(reading: Reading) -> Iterator[bytes]:
    rest = b""
    for block in bytes_of(reading.source.path, reading.notes, None):
        *whole, rest = (rest + block).split(b"\n")
        yield from whole
    yield rest


def _decoded(lines: Any) -> Iterator[_Line | None]:
    for line in lines:
        if line.strip():
            try:
                yield _LINE.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                yield None


def _call(number: int, line: _Line) -> dict[str, Any]:
    told = line.coll_perf
    took = round(told.coll_exec_time_us * 1000)
    kernels = told.event_trace_ts.kernel_events if told.event_trace_ts else []
    starts = [each.kernel_start_ts for each in kernels if each.kernel_start_ts]
    end = line.metadata.dump_timestamp_us * 1000
    start = min(starts) * 1000 if starts else end - took
    return {
        "slice": number,
        "group": line.header.id,
        "seq": told.coll_sn,
        "kind": collective_kind(told.coll),
        "name": told.coll,
        "start_ns": start,
        "end_ns": start + took,
        "bytes": told.coll_msg_size_bytes,
        "dtype": None,
        "peer": None,
        "json": json.dumps({"bus_gb_per_s": told.coll_busbw_gbs, "timing": told.coll_timing_source}),
        "stack": None,
        "exact": bool(starts),
        "algbw": told.coll_algobw_gbs,
        "busbw": told.coll_busbw_gbs,
    }


def _reported(rows: list[dict[str, Any]], file: str) -> pl.DataFrame:
    """The bandwidths that the plugin worked out, beside ours."""
    values = [
        {"file": file, "key": f"{row['name']} {row['seq']}@{row['group']}", "metric": metric, "value": row[field]}
        for row in rows
        for metric, field in (("coll_algobw_gbs", "algbw"), ("coll_busbw_gbs", "busbw"))
        if row[field] is not None
    ]
    return pl.DataFrame(values) if values else pl.DataFrame()
