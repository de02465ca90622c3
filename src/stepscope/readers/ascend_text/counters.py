"""Counter events of the timeline: each number is a series, and so is each accelerator that shares a name."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NULL, Int32s, Int64s
from stepscope.readers.files.numbers import number
from stepscope.readers.trace_json.event_columns import Batch, EventColumns, arguments
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_ACCELERATOR: Final = "acc_id"
_AT_ONCE: Final = 1 << 14


class _Value(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    value: float
    accelerator: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)] = msgspec.field(name="acc_id", default=-1)


_VALUES: Final = msgspec.json.Decoder(list[_Value])
_OBJECTS: Final = msgspec.json.Decoder(list[dict[str, Any]])


class CounterSeries:
    """Grows by batches of counter events; they wait until there are many, because each name costs something."""

    def __init__(self, columns: EventColumns, notes: Notes) -> None:
        self.columns = columns
        self.notes = notes
        self.numbers: set[int] = set()
        self._owners: dict[int, tuple[Any, str]] = {}
        self._waiting: list[tuple[Int64s, Int64s, Sequence[bytes]]] = []
        self._parts: list[tuple[Int32s, Int64s, npt.NDArray[np.float64]]] = []

    def add(self, batch: Batch) -> None:
        """Take a batch of counter events in."""
        if len(batch):
            named = batch.track.astype(np.int64) << 32 | batch.name
            self._waiting.append((named, batch.time, batch.arguments))
            if sum(len(named) for named, *_ in self._waiting) >= _AT_ONCE:
                self.flush()

    def flush(self) -> None:
        """Understand what waits."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        named, moments = (np.concatenate([part[column] for part in waiting]) for column in (0, 1))
        raws = [raw for *_, part in waiting for raw in part]
        codes, first, series = np.unique(named, return_index=True, return_inverse=True)
        owners = self._owners_of(codes.tolist())
        # One of each name tells whether they are plain values; nearly all are, and are decoded at once.
        plain = np.array([_decoded([raws[row]]) is not None for row in first.tolist()])[series]
        if plain.any():
            values = _decoded(raws if plain.all() else list(itertools.compress(raws, plain.tolist())))
            plain &= values is not None
            if values is not None:
                self._add_plain(owners, series[plain], values, moments[plain])
        for owner in np.unique(series[~plain]).tolist():
            rows = np.flatnonzero(series == owner)
            process, name = owners[owner]
            self._add_any(process, name, [raws[row] for row in rows.tolist()], moments[rows])

    def _owners_of(self, codes: list[int]) -> list[tuple[Any, str]]:
        """Process and name behind each code of track and name; the same few come again and again."""
        if not self._owners.keys() >= set(codes):
            tracks, words = list(self.columns.tracks), self.columns.names.texts()
            self._owners |= {code: (tracks[code >> 32][0], words[code & 0xFFFFFFFF] or "") for code in codes}
        return [self._owners[code] for code in codes]

    def _add_plain(self, owners: list[tuple[Any, str]], series: Int64s, decoded: list[_Value], moments: Int64s) -> None:
        """Values, perhaps of one accelerator each."""
        values = np.fromiter(map(attrgetter("value"), decoded), np.float64, len(decoded))
        accelerator = np.fromiter(map(attrgetter("accelerator"), decoded), np.int64, len(decoded))
        split, own = np.unique(series << 32 | accelerator + 1, return_inverse=True)
        numbers = []
        for code in split.tolist():
            process, name = owners[code >> 32]
            one = (code & 0xFFFFFFFF) - 1
            numbers.append(self._track(process, name, "value", None if one < 0 else one))
        self._add(np.array(numbers, np.int32)[own], moments, values)

    def _add_any(self, process: Any, name: str, raws: list[bytes], moments: Int64s) -> None:
        """Events of one name with arguments of any kind."""
        objects = _objects(raws)
        series: dict[tuple[str, Any], tuple[list[int], list[float]]] = {}
        empty = 0
        for row, own in enumerate(objects):
            accelerator = own.get(_ACCELERATOR)
            used = False
            for key, value in own.items():
                parsed = value if type(value) is float else number(value)
                if parsed is not None and key != _ACCELERATOR:
                    rows, values = series.setdefault((key, None if accelerator is None else str(accelerator)), ([], []))
                    rows.append(row)
                    values.append(parsed)
                    used = True
            empty += not used
        self.notes.add("ascend_counter_empty", file=self.columns.file, count=empty)
        for (key, accelerator), (rows, values) in series.items():
            track = self._track(process, name, key, accelerator)
            self._add(np.full(len(rows), track, np.int32), moments[rows], np.array(values, np.float64))

    def add_samples(self, process: str, name: str, moments: Int64s, values: pl.Series) -> None:
        """A series from elsewhere; nulls are left out."""
        given = np.flatnonzero((moments != NULL) & values.is_not_null().to_numpy())
        if len(given):
            track = self.columns.tracks[process, name]
            self.numbers.add(track)
            self._add(np.full(len(given), track, np.int32), moments[given], values.gather(given).to_numpy())

    def write(self, out: RankWriter) -> None:
        """Rows of ``counters``."""
        self.flush()
        if not self._parts:
            return
        track, moment, value = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(track, kind="stable")
        before, behind = order[:-1], order[1:]
        if bool(((track[before] == track[behind]) & (moment[before] > moment[behind])).any()):
            order = np.lexsort((moment, track))
        placed = order[moment[order] != NULL]
        self.notes.add("event_without_time", file=self.columns.file, count=len(track) - len(placed))
        out.add("counters", pl.DataFrame({"track": track[placed], "time_ns": moment[placed], "value": value[placed]}))

    def _track(self, process: Any, name: str, key: str, accelerator: Any) -> int:
        track = self.columns.tracks[process, label(name, key, accelerator)]
        self.numbers.add(track)
        return track

    def _add(self, track: Int32s, moments: Int64s, values: npt.NDArray[np.float64]) -> None:
        self._parts.append((track, moments, values))


def _decoded(raws: list[bytes]) -> list[_Value] | None:
    """All as plain values, None if one is something else."""
    try:
        values = _VALUES.decode(b"[" + b",".join(raws) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return values if len(values) == len(raws) else None


def _objects(raws: list[bytes]) -> list[dict[str, Any]]:
    try:
        objects = _OBJECTS.decode(b"[" + b",".join(raws) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        objects = []
    return objects if len(objects) == len(raws) else list(map(arguments, raws))


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
