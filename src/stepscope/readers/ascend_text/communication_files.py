"""``communication.json`` and ``communication_matrix.json``: what the vendor computed about each call and each link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from stepscope.readers.exact_time import nanoseconds
from stepscope.readers.minddata.put import put
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_MOST_BYTES: Final = 4 << 30
_STEP: Final = re.compile(r"step(\d{1,18})")
_TOTAL: Final = "Total Op Info"

Number = float | str | None


class _Times(msgspec.Struct, gc=False):
    start: msgspec.Raw = msgspec.field(name="Start Timestamp(us)", default=msgspec.Raw())
    elapse: Number = msgspec.field(name="Elapse Time(ms)", default=None)
    transit: Number = msgspec.field(name="Transit Time(ms)", default=None)
    wait: Number = msgspec.field(name="Wait Time(ms)", default=None)
    sync: Number = msgspec.field(name="Synchronization Time(ms)", default=None)
    idle: Number = msgspec.field(name="Idle Time(ms)", default=None)
    wait_ratio: Number = msgspec.field(name="Wait Time Ratio", default=None)
    sync_ratio: Number = msgspec.field(name="Synchronization Time Ratio", default=None)


class _Band(msgspec.Struct, gc=False):
    size: Number = msgspec.field(name="Transit Size(MB)", default=None)
    time: Number = msgspec.field(name="Transit Time(ms)", default=None)
    bandwidth: Number = msgspec.field(name="Bandwidth(GB/s)", default=None)
    large: Number = msgspec.field(name="Large Packet Ratio", default=None)
    packets: dict[str, list[Number]] = msgspec.field(name="Size Distribution", default_factory=dict)


class _Call(msgspec.Struct, gc=False):
    times: _Times = msgspec.field(name="Communication Time Info", default_factory=_Times)
    bands: dict[str, _Band] = msgspec.field(name="Communication Bandwidth Info", default_factory=dict)


class _Link(msgspec.Struct, gc=False):
    transport: str | None = msgspec.field(name="Transport Type", default=None)
    size: Number = msgspec.field(name="Transit Size(MB)", default=None)
    time: Number = msgspec.field(name="Transit Time(ms)", default=None)
    bandwidth: Number = msgspec.field(name="Bandwidth(GB/s)", default=None)


_CALLS: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, _Call]]])
_LINKS: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, _Link]]]])
_TIMES: Final = {field.name: field.encode_name for field in msgspec.structs.fields(_Times) if field.name != "start"}
_BANDS: Final = {field.name: field.encode_name for field in msgspec.structs.fields(_Band) if field.name != "packets"}
_CALL_SCHEMA: Final = {
    "name": pl.String,
    "group": pl.String,
    "step": pl.Int64,
    "start_ns": pl.Int64,
    **dict.fromkeys(("elapse_ns", "transit_ns", "wait_ns", "sync_ns", "idle_ns"), pl.Int64),
}


def read_calls(
    paths: Sequence[Path], out: RankWriter, notes: Notes, on_read: Callable[[int], None] | None
) -> pl.DataFrame:
    """The calls with the vendor's times; everything of the file goes to ``reported``."""
    found: list[tuple[int | None, str, _Call]] = []
    for path in paths:
        listed = _walk(_load(path, _CALLS, notes, on_read), path, notes)
        found += listed
        put(out, "reported", _reported(path.name, _call_metrics(listed)))
    calls = [(step, *key.rpartition("@"), call.times) for step, key, call in found if key != _TOTAL]
    starts = nanoseconds([bytes(times.start) or b"null" for *_, times in calls])
    frame = pl.DataFrame(
        {
            "name": [name or group for _, name, _, group, _ in calls],
            "group": [group if name else None for _, name, _, group, _ in calls],
            "step": [step for step, *_ in calls],
            "start_ns": starts,
            **{
                f"{field}_ns": _milliseconds([getattr(times, field) for *_, times in calls])
                for field in ("elapse", "transit", "wait", "sync", "idle")
            },
        },
        schema=_CALL_SCHEMA,
    )
    return frame.filter(pl.col("start_ns") != np.iinfo(np.int64).min)


def read_links(
    paths: Sequence[Path], out: RankWriter, notes: Notes, on_read: Callable[[int], None] | None
) -> pl.DataFrame:
    """The totals per link (step, call, group, source, peer, transport, bytes, time_ns); all goes to ``reported``."""
    rows: list[tuple[Any, ...]] = []
    for path in paths:
        metrics: list[tuple[int | None, str, str, float]] = []
        for step, key, links in _walk(_load(path, _LINKS, notes, on_read), path, notes):
            call, _, group = key.rpartition("@")
            # Old files keep one entry per call and a grand total; new ones one per kind of call and rank order.
            counts = key == _TOTAL or call.endswith("-total")
            for link, values in links.items():
                size, time = _number(values.size), _number(values.time)
                for metric, value in (
                    ("Transit Size(MB)", size),
                    ("Transit Time(ms)", time),
                    ("Bandwidth(GB/s)", _number(values.bandwidth)),
                ):
                    if value is not None:
                        metrics.append((step, key, f"{link} {metric}", value))
                ends = [int(end) for end in link.split("-") if end.isdecimal() and len(end) < 10]
                if counts and len(ends) == 2 and size is not None and time is not None:
                    rows.append(
                        (step, call or None, group, *ends, values.transport, round(size * 1e6), round(time * 1e6))
                    )
        put(out, "reported", _reported(path.name, metrics))
    columns = ["step", "call", "group", "source", "peer", "transport", "bytes", "time_ns"]
    kinds = [pl.Int64, pl.String, pl.String, pl.Int64, pl.Int64, pl.String, pl.Int64, pl.Int64]
    return pl.DataFrame(rows, schema=dict(zip(columns, kinds, strict=True)), orient="row")


def _load(path: Path, decoder: Any, notes: Notes, on_read: Callable[[int], None] | None) -> Any:
    try:
        if path.stat().st_size > _MOST_BYTES:
            notes.add("ascend_file_unreadable", file=path.name)
            return {}
        raw = path.read_bytes()
        if on_read is not None:
            on_read(len(raw))
        return decoder.decode(raw)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        notes.add("ascend_file_unreadable", file=path.name)
        return {}


def _walk(found: Any, path: Path, notes: Notes) -> list[tuple[int | None, str, Any]]:
    """Step, name and value of every entry, of both classes."""
    entries = []
    for key, classes in found.items():
        number = _STEP.fullmatch(key)
        if number is None and key != "step":
            notes.add("ascend_step_unknown", file=path.name, key=key[:80])
        for named in classes.values():
            entries += [(int(number[1]) if number else None, name, value) for name, value in named.items()]
    return entries


def _call_metrics(calls: list[tuple[int | None, str, _Call]]) -> Iterator[tuple[int | None, str, str, float]]:
    for step, key, call in calls:
        for name, metric in _TIMES.items():
            if (value := _number(getattr(call.times, name))) is not None:
                yield step, key, metric, value
        for transport, band in call.bands.items():
            if not band.packets and not _number(band.size) and not _number(band.time):
                continue  # a link that was not used
            for name, metric in _BANDS.items():
                if (value := _number(getattr(band, name))) is not None:
                    yield step, key, f"{transport} {metric}", value
            for size, counted in band.packets.items():
                for metric, text in zip(("packets", "packets time(ms)"), counted, strict=False):
                    if (value := _number(text)) is not None:
                        yield step, key, f"{transport} {size} MB {metric}", value


def _reported(file: str, metrics: Any) -> pl.DataFrame:
    schema = {"step": pl.Int64, "key": pl.String, "metric": pl.String, "value": pl.Float64}
    return pl.DataFrame(list(metrics), schema=schema, orient="row").with_columns(file=pl.lit(file))


def _milliseconds(values: list[Number]) -> list[int | None]:
    numbers = [_number(value) for value in values]
    return [None if number is None or abs(number) > 1e12 else round(number * 1e6) for number in numbers]


def _number(value: Number) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None
