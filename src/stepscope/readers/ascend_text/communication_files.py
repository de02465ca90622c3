"""``communication.json`` and ``communication_matrix.json``: what the vendor computed about each call and each link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from stepscope.arrays import NULL
from stepscope.readers.files.exact_time import nanoseconds
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

OnRead = Callable[[int], None] | None
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
_INDEX: Final = ("step", "key")


def read_calls(paths: Sequence[Path], reading: Reading) -> pl.DataFrame:
    """The calls with the vendor's times; everything of the file goes to ``reported``."""
    entries: list[Entry] = []
    for path in paths:
        listed = _entries(_load(path, _CALLS, reading), path, reading.notes)
        entries += listed
        times = [(step, key, call.times) for step, key, call in listed]
        _report(path, _wide(times, _TIMES), reading.out)
        _report_bands(path, listed, reading.out)
    calls = [(step, *key.rpartition("@"), call.times) for step, key, call in entries if key != _TOTAL]
    values = [call[-1] for call in calls]
    columns: dict[str, Any] = {
        "name": [name or group for _, name, _, group, _ in calls],
        "group": [group if name else None for _, name, _, group, _ in calls],
        "step": [step for step, *_ in calls],
        "start_ns": nanoseconds([bytes(times.start) or b"null" for times in values]),
        **{f"{span}_ns": np.fromiter(map(attrgetter(span), values), np.float64, len(values)) for span in _SPANS},
    }
    kinds = {"name": pl.String, "group": pl.String, "step": pl.Int64}
    exact = [
        pl.when(pl.col(f"{span}_ns").abs() < _LONGEST_MS).then((pl.col(f"{span}_ns") * 1e6).round()).cast(pl.Int64)
        for span in _SPANS
    ]
    return pl.DataFrame(columns, schema_overrides=kinds).filter(pl.col("start_ns") != NULL).with_columns(exact)


def read_links(paths: Sequence[Path], reading: Reading) -> pl.DataFrame:
    """The totals per link (step, call, group, source, peer, transport, bytes, time_ns); all goes to ``reported``."""
    rows: list[tuple[Any, ...]] = []
    for path in paths:
        entries = _entries(_load(path, _LINKS, reading), path, reading.notes)
        flat = [(step, f"{key}\0{link}", told) for step, key, links in entries for link, told in links.items()]
        ends = pl.col("key").str.split_exact("\0", 1).struct.unnest()
        wide = _wide(flat, _MEASURES).with_columns(ends).drop("key").rename({"field_0": "key", "field_1": "prefix"})
        _report(path, wide, reading.out)
        # New files sum up calls of one kind; old ones list every call, and a grand total without a group.
        summed = any(_TOTAL_OF_KIND in key for _, key, _ in entries)
        for step, key, told in flat:
            name, _, link = key.partition("\0")
            numbers = [int(end) for end in link.split("-") if end.isdecimal() and len(end) < 10]
            counts = _TOTAL_OF_KIND in name if summed else name != _TOTAL
            if counts and len(numbers) == 2 and 0 <= told.size < _LONGEST_MS and 0 <= told.time < _LONGEST_MS:
                call, _, group = name.rpartition("@")
                moved = round(told.size * 1e6), round(told.time * 1e6)
                rows.append((step, call or None, group or None, *numbers, told.transport, *moved))
    columns = ["step", "call", "group", "source", "peer", "transport", "bytes", "time_ns"]
    kinds = [pl.Int64, pl.String, pl.String, pl.Int64, pl.Int64, pl.String, pl.Int64, pl.Int64]
    return pl.DataFrame(rows, schema=dict(zip(columns, kinds, strict=True)), orient="row")


def _load(path: Path, decoder: Any, reading: Reading) -> Any:
    try:
        if path.stat().st_size > _MOST_BYTES:
            reading.notes.add("ascend_file_unreadable", file=path.name)
            return {}
        raw = path.read_bytes()
        reading.took(len(raw))
        return decoder.decode(raw)
    except msgspec.ValidationError:
        return _without_types(raw, decoder, path, reading.notes)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        reading.notes.add("ascend_file_unreadable", file=path.name)
        return {}


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


def _wide(entries: Sequence[Entry], fields: dict[str, str]) -> pl.DataFrame:
    """One row per entry, one column per measure, named as the file names it."""
    values = [value for *_, value in entries]
    columns: dict[str, Any] = {
        "step": pl.Series([step for step, *_ in entries], dtype=pl.Int64),
        "key": pl.Series([key for _, key, _ in entries], dtype=pl.String),
    }
    for header, name in fields.items():
        columns[header] = np.fromiter(map(attrgetter(name), values), np.float64, len(values))
    return pl.DataFrame(columns)


def _report(path: Path, wide: pl.DataFrame, out: RankWriter) -> None:
    """Rows of ``reported``: every number of a wide frame; a column ``prefix`` stands before the metric."""
    index = [name for name in (*_INDEX, "prefix") if name in wide.columns]
    long = wide.unpivot(index=index, variable_name="metric", value_name="value").filter(pl.col("value").is_finite())
    if "prefix" in index:
        long = long.with_columns(metric=pl.concat_str("prefix", "metric", separator=" ")).drop("prefix")
    out.add("reported", long.with_columns(file=pl.lit(path.name)))


def _report_bands(path: Path, calls: Iterable[Entry], out: RankWriter) -> None:
    """Transports that were used, and their packets by size."""
    used: dict[str, list[Entry]] = {}
    packets: list[tuple[int | None, str, str, float]] = []
    for step, key, call in calls:
        for transport, band in call.bands.items():
            if not band.packets and not band.size and not band.time:
                continue
            used.setdefault(transport, []).append((step, key, band))
            for size, counted in band.packets.items():
                for metric, value in zip(("packets", "packets time(ms)"), counted, strict=False):
                    packets.append((step, key, f"{transport} {size} MB {metric}", value))
    for transport, entries in used.items():
        _report(path, _wide(entries, _BANDS).with_columns(prefix=pl.lit(transport)), out)
    schema = {"step": pl.Int64, "key": pl.String, "metric": pl.String, "value": pl.Float64}
    out.add("reported", pl.DataFrame(packets, schema=schema, orient="row").with_columns(file=pl.lit(path.name)))
