"""``communication.json`` and ``communication_matrix.json``: what the vendor computed about each call and each link."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from stepscope.arrays import NULL, Float64s
from stepscope.errors import UnreadableInputError
from stepscope.readers.ascend_text.reported_cells import ReportedCells, measured
from stepscope.readers.files.exact_time import nanoseconds
from stepscope.readers.files.raw_bytes import blocks
from stepscope.readers.files.reading import Reading
from stepscope.readers.trace_json.event_columns import nullable
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

Entry = tuple[int | None, str, Any]  # step, name, value

_MOST_BYTES: Final = 4 << 30
_LONGEST_MS: Final = 1e12
_STEP: Final = re.compile(r"step(\d{1,18})")
_TOTAL: Final = "Total Op Info"
_TOTAL_OF_KIND: Final = "-total@"
_NO_NUMBER: Final = float("nan")


class _Times(msgspec.Struct, gc=False):
    start: msgspec.Raw = msgspec.field(name="Start Timestamp(us)", default=msgspec.Raw())
    elapse: float = msgspec.field(name="Elapse Time(ms)", default=_NO_NUMBER)
    transit: float = msgspec.field(name="Transit Time(ms)", default=_NO_NUMBER)
    wait: float = msgspec.field(name="Wait Time(ms)", default=_NO_NUMBER)
    sync: float = msgspec.field(name="Synchronization Time(ms)", default=_NO_NUMBER)
    idle: float = msgspec.field(name="Idle Time(ms)", default=_NO_NUMBER)
    wait_ratio: float = msgspec.field(name="Wait Time Ratio", default=_NO_NUMBER)
    sync_ratio: float = msgspec.field(name="Synchronization Time Ratio", default=_NO_NUMBER)


class _Band(msgspec.Struct, gc=False):
    size: float = msgspec.field(name="Transit Size(MB)", default=_NO_NUMBER)
    time: float = msgspec.field(name="Transit Time(ms)", default=_NO_NUMBER)
    bandwidth: float = msgspec.field(name="Bandwidth(GB/s)", default=_NO_NUMBER)
    large: float = msgspec.field(name="Large Packet Ratio", default=_NO_NUMBER)
    packets: dict[str, list[float]] = msgspec.field(name="Size Distribution", default_factory=dict)


class _Call(msgspec.Struct, gc=False):
    times: _Times = msgspec.field(name="Communication Time Info", default_factory=_Times)
    bands: dict[str, _Band] = msgspec.field(name="Communication Bandwidth Info", default_factory=dict)


class _Link(msgspec.Struct, gc=False):
    transport: str | None = msgspec.field(name="Transport Type", default=None)
    size: float = msgspec.field(name="Transit Size(MB)", default=_NO_NUMBER)
    time: float = msgspec.field(name="Transit Time(ms)", default=_NO_NUMBER)
    bandwidth: float = msgspec.field(name="Bandwidth(GB/s)", default=_NO_NUMBER)


_CALLS: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, _Call]]])
_LINKS: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, _Link]]]])
_TIMES: Final = {field.encode_name: field.name for field in msgspec.structs.fields(_Times) if field.name != "start"}
_BANDS: Final = {field.encode_name: field.name for field in msgspec.structs.fields(_Band) if field.name != "packets"}
_MEASURES: Final = {field.encode_name: field.name for field in msgspec.structs.fields(_Link) if field.type is float}
_SPANS: Final = ("elapse", "transit", "wait", "sync", "idle")
_PACKETS: Final = ("packets", "packets time(ms)")


def read_calls(paths: Sequence[Path], reading: Reading) -> pl.DataFrame:
    """The calls with the vendor's times; everything of the file goes to ``reported``."""
    calls = [_no_calls(), *(_calls_of_file(path, reading) for path in paths)]
    return pl.concat(calls).filter(pl.col("start_ns") != NULL)


def _no_calls() -> pl.DataFrame:
    texts, numbers = ("name", "group"), ("step", "start_ns", *(f"{span}_ns" for span in _SPANS))
    return pl.DataFrame(schema=dict.fromkeys(texts, pl.String) | dict.fromkeys(numbers, pl.Int64))


def _calls_of_file(path: Path, reading: Reading) -> pl.DataFrame:
    entries = _entries(_load(path, _CALLS, reading), path, reading.notes)
    if not entries:
        return _no_calls()
    steps, keys, calls = zip(*entries, strict=True)
    times = [call.times for call in calls]
    every_entry = np.arange(len(entries))
    values = measured(times, _TIMES.values())
    cells = ReportedCells(steps, keys)
    for header, column in zip(_TIMES, values, strict=True):
        cells.add_column(header, every_entry, column)
    _add_bands(calls, cells)
    reading.out.add("reported", cells.frame(path.name))
    parted = [key.rpartition("@") for key in keys]
    columns: dict[str, Any] = {
        "name": pl.Series([name or group for name, _, group in parted], dtype=pl.String),
        "group": pl.Series([group if name else None for name, _, group in parted], dtype=pl.String),
        "step": pl.Series(steps, dtype=pl.Int64),
        "start_ns": nanoseconds([bytes(each.start) or b"null" for each in times]),
    }
    for field, column in zip(_TIMES.values(), values, strict=True):
        if field in _SPANS:
            columns[f"{field}_ns"] = _whole_nanoseconds(column)
    total = np.fromiter((key == _TOTAL for key in keys), np.bool_, len(keys))
    return pl.DataFrame(columns).filter(~total).select(_no_calls().columns)


def _whole_nanoseconds(milliseconds: Float64s) -> pl.Series:
    known = np.abs(milliseconds) < _LONGEST_MS  # not so if it is no number
    rounded = np.rint(np.where(known, milliseconds, 0) * 1e6).astype(np.int64)
    return nullable(np.where(known, rounded, NULL))


def read_links(paths: Sequence[Path], reading: Reading) -> pl.DataFrame:
    """The totals per link (step, call, group, source, peer, transport, bytes, time_ns); all goes to ``reported``."""
    rows: list[tuple[Any, ...]] = []
    for path in paths:
        entries = _entries(_load(path, _LINKS, reading), path, reading.notes)
        _report_links(path, entries, reading.out)
        # New files sum up calls of one kind; old ones list every call, and a grand total without a group.
        summed = any(_TOTAL_OF_KIND in key for _, key, _ in entries)
        for step, name, links in entries:
            if not (_TOTAL_OF_KIND in name if summed else name != _TOTAL):
                continue
            call, _, group = name.rpartition("@")
            for link, told in links.items():
                numbers = [int(end) for end in link.split("-") if end.isdecimal() and len(end) < 10]
                if len(numbers) == 2 and 0 <= told.size < _LONGEST_MS and 0 <= told.time < _LONGEST_MS:
                    moved = round(told.size * 1e6), round(told.time * 1e6)
                    rows.append((step, call or None, group or None, *numbers, told.transport, *moved))
    columns = ["step", "call", "group", "source", "peer", "transport", "bytes", "time_ns"]
    kinds = [pl.Int64, pl.String, pl.String, pl.Int64, pl.Int64, pl.String, pl.Int64, pl.Int64]
    return pl.DataFrame(rows, schema=dict(zip(columns, kinds, strict=True)), orient="row")


def _report_links(path: Path, entries: Sequence[Entry], out: RankWriter) -> None:
    flat = [(entry, link, told) for entry, (_, _, links) in enumerate(entries) for link, told in links.items()]
    if not flat:
        return
    entry_of_link, names, links = zip(*flat, strict=True)
    cells = ReportedCells([step for step, *_ in entries], [key for _, key, _ in entries])
    for header, column in zip(_MEASURES, measured(links, _MEASURES.values()), strict=True):
        cells.add([f"{link} {header}" for link in names], entry_of_link, column)
    out.add("reported", cells.frame(path.name))


def _load(path: Path, decoder: Any, reading: Reading) -> Any:
    try:
        raw = _content(path, reading)
        return decoder.decode(raw)
    except msgspec.ValidationError:
        return _without_types(raw, decoder, path, reading.notes)
    except (UnreadableInputError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        reading.notes.add("ascend_file_unreadable", file=path.name)
        return {}


def _content(path: Path, reading: Reading) -> bytes:
    content = bytearray()
    for block in blocks(path, reading.notes, reading.on_read):
        content += block
        if len(content) > _MOST_BYTES:
            raise UnreadableInputError("cannot_read", path=str(path), reason="too large")
    return bytes(content.removeprefix(codecs.BOM_UTF8))


def _without_types(raw: bytes, decoder: Any, path: Path, notes: Notes) -> Any:
    """Entry by entry, where one of them has a type that it should not have; those are left out, and counted."""
    readable: dict[str, dict[str, dict[str, Any]]] = {}
    try:
        steps = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        notes.add("ascend_file_unreadable", file=path.name)
        return readable
    dropped = 0
    for step, classes in steps.items() if isinstance(steps, dict) else ():
        for kind, entries in classes.items() if isinstance(classes, dict) else ():
            for key, entry in entries.items() if isinstance(entries, dict) else ():
                try:
                    one = decoder.decode(msgspec.json.encode({step: {kind: {key: entry}}}))
                    readable.setdefault(step, {}).setdefault(kind, {}).update(one[step][kind])
                except msgspec.ValidationError:
                    dropped += 1
    notes.add("ascend_entry_dropped", file=path.name, count=max(1, dropped))
    return readable


def _entries(content: Any, path: Path, notes: Notes) -> list[Entry]:
    """Step, name and value of every entry, of both classes."""
    entries: list[Entry] = []
    for key, classes in content.items():
        number = _STEP.fullmatch(key)
        if number is None and key != "step":
            notes.add("ascend_step_unknown", file=path.name, word=key[:80])
        for named in classes.values():
            entries += [(int(number[1]) if number else None, name, value) for name, value in named.items()]
    return entries


def _add_bands(calls: Iterable[_Call], cells: ReportedCells) -> None:
    """Transports that were used, and their packets by size."""
    used: dict[str, tuple[list[int], list[_Band]]] = defaultdict(lambda: ([], []))
    packets: dict[tuple[str, str, str], tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for entry, call in enumerate(calls):
        for transport, band in call.bands.items():
            if not (band.packets or band.size or band.time):
                continue
            positions, bands = used[transport]
            positions.append(entry)
            bands.append(band)
            for size, counted in band.packets.items():
                for metric, value in zip(_PACKETS, counted, strict=False):
                    entries, values = packets[transport, size, metric]
                    entries.append(entry)
                    values.append(value)
    for transport, (positions, bands) in used.items():
        for header, column in zip(_BANDS, measured(bands, _BANDS.values()), strict=True):
            cells.add_column(f"{transport} {header}", positions, column)
    for (transport, size, metric), (entries, values) in packets.items():
        cells.add_column(f"{transport} {size} MB {metric}", entries, values)
