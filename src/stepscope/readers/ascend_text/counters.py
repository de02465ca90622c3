"""Counter events of the timeline: each number is a series, and so is each accelerator that shares a name."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from stepscope.readers.codes import Codes
from stepscope.readers.event_columns import NULL, Batch, arguments, times
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_OBJECTS: Final = msgspec.json.Decoder(list[dict[str, Any]])
_ACCELERATOR: Final = "acc_id"


class CounterSeries:
    """Grows by batches of counter events."""

    def __init__(self, tracks: Codes, notes: Notes, file: str) -> None:
        self.tracks = tracks
        self.notes = notes
        self.file = file
        self.numbers: set[int] = set()
        self._known: dict[tuple[Any, ...], int] = {}
        self._frames: list[pl.DataFrame] = []

    def add(self, batch: Batch) -> None:
        if not batch.events:
            return
        track: list[int] = []
        place_of: list[int] = []
        value_of: list[float] = []
        known = self._known
        empty = 0
        for place, (event, own) in enumerate(zip(batch.events, _decoded(batch), strict=True)):
            accelerator = own.pop(_ACCELERATOR, None) if _ACCELERATOR in own else None
            before = len(track)
            for key, value in own.items():
                if type(value) is not int and type(value) is not float:
                    value = _number(value)  # noqa: PLW2901
                    if value is None:
                        continue
                series = (event.pid, event.name, key, accelerator)
                number = known.get(series)
                if number is None:
                    number = known[series] = self.tracks[event.pid, label(event.name or "", key, accelerator)]
                track.append(number)
                place_of.append(place)
                value_of.append(value)
            empty += len(track) == before
        self.notes.add("ascend_counter_empty", file=self.file, count=empty)
        self.numbers.update(track)
        self._add(track, times(batch)[place_of], value_of)

    def add_samples(self, process: str, name: str, moments: np.ndarray[Any, Any], values: pl.Series) -> None:
        """A series from elsewhere; nulls are left out."""
        given = np.flatnonzero((moments != NULL) & values.is_not_null().to_numpy())
        if len(given):
            number = self.tracks[process, name]
            self.numbers.add(number)
            self._add([number] * len(given), moments[given], values.gather(given).to_list())

    def write(self, out: RankWriter) -> None:
        """Rows of ``counters``."""
        if not self._frames:
            return
        frame = pl.concat(self._frames)
        placed = frame.filter(pl.col("time_ns") != NULL)
        self.notes.add("event_without_time", file=self.file, count=frame.height - placed.height)
        out.add("counters", placed.sort("track", "time_ns", maintain_order=True))

    def _add(self, track: list[int], moments: np.ndarray[Any, Any], values: list[float]) -> None:
        try:
            numbers = np.array(values, np.float64)
        except OverflowError:
            numbers = np.array([_number(value) for value in values], np.float64)
        frame = pl.DataFrame({"track": np.array(track, np.int32), "time_ns": moments, "value": numbers})
        finite = frame.filter(pl.col("value").is_finite())
        self.notes.add("ascend_counter_empty", file=self.file, count=frame.height - finite.height)
        self._frames.append(finite)


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


def _decoded(batch: Batch) -> list[dict[str, Any]]:
    try:
        return _OBJECTS.decode(b"[" + b",".join(event.args or b"{}" for event in batch.events) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [arguments(event.args) for event in batch.events]


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
