"""Counter events of the timeline: each number is a series, and so is each accelerator that shares a name."""

from __future__ import annotations

import itertools
import math
from operator import attrgetter
from typing import Annotated, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.readers.codes import Codes
from stepscope.readers.event_columns import NULL, Batch, arguments, times
from stepscope.readers.minddata.put import put
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_ACCELERATOR: Final = "acc_id"
_LARGEST: Final = 1e300


class _Value(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    value: float
    accelerator: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = msgspec.field(name="acc_id", default=-1)


_VALUES: Final = msgspec.json.Decoder(list[_Value])
_OBJECTS: Final = msgspec.json.Decoder(list[dict[str, Any]])


class CounterSeries:
    """Grows by batches of counter events."""

    def __init__(self, tracks: Codes, notes: Notes, file: str) -> None:
        self.tracks = tracks
        self.notes = notes
        self.file = file
        self.numbers: set[int] = set()
        self._parts: list[tuple[Int32s, Int64s, npt.NDArray[np.float64]]] = []

    def add(self, batch: Batch) -> None:
        """Take a batch of counter events in."""
        if not batch.events:
            return
        moments = times(batch)
        named = batch.track.astype(np.int64) << 32 | batch.name
        _, first, series = np.unique(named, return_index=True, return_inverse=True)
        # One of each name tells whether they are plain values; nearly all are, and are decoded at once.
        plain = np.array([_decoded([batch.arguments[place]]) is not None for place in first.tolist()])[series]
        if plain.any():
            plain &= self._add_plain(batch, plain, first, series, moments)
        for number in np.unique(series[~plain]).tolist():
            places = np.flatnonzero(series == number)
            event = batch.events[first[number]]
            raws = [batch.arguments[place] for place in places.tolist()]
            self._add_any(event.pid, event.name or "", raws, moments[places])

    def _add_plain(self, batch: Batch, plain: Bools, first: Int64s, series: Int64s, moments: Int64s) -> bool:
        """Values, perhaps of one accelerator each; False if one of them is something else."""
        decoded = _decoded(list(itertools.compress(batch.arguments, plain.tolist())))
        if decoded is None:
            return False
        values = np.fromiter(map(attrgetter("value"), decoded), np.float64, len(decoded))
        accelerator = np.fromiter(map(attrgetter("accelerator"), decoded), np.int64, len(decoded))
        split, own = np.unique(series[plain] << 32 | accelerator + 1, return_inverse=True)
        numbers = []
        for code in split.tolist():
            event = batch.events[first[code >> 32]]
            one = (code & 0xFFFFFFFF) - 1
            numbers.append(self._track(event.pid, event.name or "", "value", None if one < 0 else one))
        self._add(np.array(numbers, np.int32)[own], moments[plain], values)
        return True

    def _add_any(self, process: Any, name: str, raws: list[msgspec.Raw], moments: Int64s) -> None:
        """Events of one name with arguments of any kind."""
        found = _objects(raws)
        if found and self._add_uniform(process, name, found, moments):
            return
        series: dict[tuple[str, Any], tuple[list[int], list[float]]] = {}
        empty = 0
        for place, own in enumerate(found):
            accelerator = own.get(_ACCELERATOR)
            used = False
            for key, value in own.items():
                number = value if type(value) is float else _number(value)
                if number is not None and key != _ACCELERATOR:
                    places, values = series.setdefault(
                        (key, None if accelerator is None else str(accelerator)), ([], [])
                    )
                    places.append(place)
                    values.append(number)
                    used = True
            empty += not used
        self.notes.add("ascend_counter_empty", file=self.file, count=empty)
        for (key, accelerator), (places, values) in series.items():
            number = self._track(process, name, key, accelerator)
            self._add(np.full(len(places), number, np.int32), moments[places], np.array(values, np.float64))

    def _add_uniform(self, process: Any, name: str, found: list[dict[str, Any]], moments: Int64s) -> bool:
        """One number under one key each; False if they are anything else."""
        key = next(iter(found[0]), None)
        if key in (None, _ACCELERATOR) or sum(map(len, found)) != len(found):
            return False
        values = [own.get(key) for own in found]
        if not set(map(type, values)) <= {float, int}:
            return False
        numbers = np.array([float(value) for value in values if abs(value) < _LARGEST], np.float64)
        if len(numbers) != len(values):
            return False
        self._add(np.full(len(values), self._track(process, name, str(key), None), np.int32), moments, numbers)
        return True

    def add_samples(self, process: str, name: str, moments: Int64s, values: pl.Series) -> None:
        """A series from elsewhere; nulls are left out."""
        given = np.flatnonzero((moments != NULL) & values.is_not_null().to_numpy())
        if len(given):
            number = self.tracks[process, name]
            self.numbers.add(number)
            self._add(np.full(len(given), number, np.int32), moments[given], values.gather(given).to_numpy())

    def write(self, out: RankWriter) -> None:
        """Rows of ``counters``."""
        if not self._parts:
            return
        track, moment, value = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        frame = pl.DataFrame({"track": track, "time_ns": moment, "value": value})
        placed = frame.filter(pl.col("time_ns") != NULL)
        self.notes.add("event_without_time", file=self.file, count=frame.height - placed.height)
        put(out, "counters", placed.sort("track", "time_ns", maintain_order=True))

    def _track(self, process: Any, name: str, key: str, accelerator: Any) -> int:
        number = self.tracks[process, label(name, key, accelerator)]
        self.numbers.add(number)
        return number

    def _add(self, track: Int32s, moments: Int64s, values: npt.NDArray[np.float64]) -> None:
        self._parts.append((track, moments, values))


def _decoded(raws: list[msgspec.Raw]) -> list[_Value] | None:
    try:
        return _VALUES.decode(b"[" + b",".join(raws) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _objects(raws: list[msgspec.Raw]) -> list[dict[str, Any]]:
    try:
        return _OBJECTS.decode(b"[" + b",".join(raws) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return list(map(arguments, raws))


def label(name: str, key: str, accelerator: Any = None) -> str:
    """What to call a series, its unit included.

    >>> label("HBM 0/Read", "Read(MB/s)"), label("AI Core Freq", "MHz"), label("read_ost", "value", 3)
    ('HBM 0/Read(MB/s)', 'AI Core Freq (MHz)', 'read_ost, accelerator 3')
    """
    last = name.rsplit("/", maxsplit=1)[-1]
    if key in ("value", name):
        text = name
    elif last and key.startswith(last):
        text = name + key[len(last) :]
    else:
        text = f"{name} ({key})"
    return text if accelerator is None else f"{text}, accelerator {accelerator}"


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
