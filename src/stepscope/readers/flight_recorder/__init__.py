"""Dumps of PyTorch's flight recorder: the latest collective calls of a rank, as pickle or JSON.

Every job can write them without a profiler, when it hangs. They tell which calls were made and in which order, and how
far each came. Times are when the host made the call; when it ran on the device is known only where durations were
recorded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.discovery.source import Source, named_rank
from stepscope.readers.files.raw_bytes import blocks as bytes_of
from stepscope.readers.files.raw_bytes import head
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.unpickle import load
from stepscope.readers.flight_recorder.entries import Group, calls_of, groups_of
from stepscope.readers.reader import claims_no_directory as claim
from stepscope.readers.slices.call_log import write_call_log

__all__ = ["claim", "claim_file", "read"]

_READER: Final = "flight_recorder"
_PICKLE: Final = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
_KEYS: Final = (b"pg_config", b"entries", b"comm_lib_version", b"nccl_version")
_ENTRY: Final = (b'"collective_seq_id"', b'"profiling_name"')
_RANK_AT_END: Final = re.compile(r"_(\d{1,9})$")


def claim_file(path: Path, first: bytes) -> Source | None:
    """By the keys at the beginning; the rank is in the name."""
    is_pickle = first.startswith(_PICKLE) and b"version" in first[:64] and any(key in first for key in _KEYS)
    is_json = first.lstrip()[:1] == b"{" and all(key in first for key in _ENTRY)
    if not is_pickle and not is_json:
        return None
    at_end = _RANK_AT_END.search(path.stem)
    rank = named_rank(path)
    return Source(path, _READER, int(at_end[1]) if rank is None and at_end else rank, (path,))


def read(reading: Reading) -> None:
    """Read the dump of one rank."""
    path = reading.source.path
    content = _content(reading)
    entries = content.get("entries")
    if not isinstance(entries, list) or not entries:
        raise UnreadableInputError("no_events", path=str(path))
    groups = groups_of(content.get("pg_config"))
    rank = reading.source.rank or 0
    calls, stacks = calls_of(entries, groups)
    reading.notes.add("flight_recorder_entries_unreadable", file=path.name, count=len(entries) - len(calls))
    if calls.is_empty():
        raise UnreadableInputError("no_events", path=str(path))
    unfinished = calls.filter(~pl.col("finished"))
    reading.notes.add("flight_recorder_unfinished", file=path.name, count=len(unfinished))
    reading.notes.add("flight_recorder_times", file=path.name)
    world = max((len(group.ranks) for group in groups.values()), default=0)
    about = {"framework": "pytorch", "calls_until_end": True, "world_size": max(world, rank + 1)}
    write_call_log(calls.drop("finished"), about, reading)
    reading.out.add("stacks", stacks)
    reading.out.add("groups", _group_rows(groups))
    reading.took(reading.source.bytes)


def _content(reading: Reading) -> dict[str, Any]:
    path = reading.source.path
    if head(path, 2).startswith(_PICKLE):
        content, _ = load(lambda: bytes_of(path, reading.notes, None), str(path))
    else:
        try:
            content = msgspec.json.decode(b"".join(bytes_of(path, reading.notes, None)))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableInputError("cannot_read", path=str(path), reason=str(error)) from error
    if not isinstance(content, dict):
        raise UnreadableInputError("unknown_format", path=str(path))
    return content


def _group_rows(groups: dict[str, Group]) -> pl.DataFrame:
    rows = [
        {
            "group": group.id,
            "name": group.description,
            "ranks": group.ranks or None,
            "origin": "pg_config",
            "confidence": "stated",
        }
        for group in groups.values()
    ]
    return pl.DataFrame(rows, schema_overrides={"ranks": pl.List(pl.Int32)}) if rows else pl.DataFrame()
