"""Chrome trace events as columns: what all formats that use this skeleton have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec.structs import astuple

from stepscope.readers.begin_end import pair
from stepscope.readers.codes import Codes
from stepscope.readers.exact_time import INVALID, nanoseconds
from stepscope.readers.trace_text import Event
from stepscope.store.notes import Notes

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
_Value = TypeVar("_Value")

#: Stands for "not there" in integer columns while they are NumPy arrays.
NULL: Final = INVALID


# Events of a trace by phase; what they have in common is the letter of the first.
_FAMILIES: Final = {"X": "X", "s": "stf", "i": "iIRPn", "C": "C", "B": "BEbeSF"}
_FLOW: Final = list(_FAMILIES).index("s")
_OTHER, _UNUSED = -1, -2
_FAMILY_OF: Final[dict[str | None, int]] = {
    phase: code for code, phases in enumerate(_FAMILIES.values()) for phase in phases
}

_SORT_FIELDS: Final = slice(0, 5)  # phase, category, name, process, thread


class _Sorts(dict[Any, int]):
    """Numbers for the sorts of events, which are those that differ in time and arguments only.

    A trace of millions of events has some hundred of them, so one look-up per event stands for several.
    """

    def __init__(self, columns_of: Callable[..., tuple[int, ...]]) -> None:
        super().__init__()
        self._columns_of = columns_of
        self._new: list[tuple[int, ...]] = []
        self._table = np.zeros((4, 1024), np.int32)
        self._filled = 0

    def __missing__(self, fields: tuple[Any, ...]) -> int:
        self[fields] = code = len(self)
        self._new.append(self._columns_of(*fields))
        return code

    def columns(self) -> npt.NDArray[np.int32]:
        """Family, track, category and name by number."""
        if self._new:
            # Ascend's arrows have a name each, so the table may grow with every batch.
            filled = self._filled + len(self._new)
            if filled > self._table.shape[1]:
                self._table = np.pad(self._table, ((0, 0), (0, filled)))
            self._table[:, self._filled : filled] = np.array(self._new, np.int32).T
            self._new, self._filled = [], filled
        return self._table


def _pick(values: Sequence[_Value], places: Int64s) -> Sequence[_Value]:
    return values if len(places) == len(values) else [values[place] for place in places.tolist()]


@dataclass
class Batch:
    """Events of one kind out of one batch of the file, in file order."""

    index: Int64s  # number of each event in its file
    track: Int32s
    category: Int32s
    name: Int32s
    time: Int64s  # when it is, or begins, in the file's own ns
    arguments: Sequence[bytes]  # as text, empty where there are none

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def argument_lengths(self) -> Int64s:
        return np.fromiter(map(len, self.arguments), np.int64, len(self))

    def only(self, places: Int64s) -> Batch:
        """Those at the places."""
        if len(places) == len(self):
            return self
        return Batch(
            self.index[places],
            self.track[places],
            self.category[places],
            self.name[places],
            self.time[places],
            _pick(self.arguments, places),
        )


class Columns:
    """Events of one kind as growing columns."""

    def __init__(self) -> None:
        self._columns: list[list[npt.NDArray[Any]]] = []

    def add(self, batch: Batch, *more: npt.NDArray[Any]) -> None:
        self.extend(batch.index, batch.track, batch.category, batch.name, *more)

    def extend(self, *columns: npt.NDArray[Any]) -> None:
        """Append whole columns."""
        if not self._columns:
            self._columns = [[] for _ in columns]
        for parts, values in zip(self._columns, columns, strict=True):
            parts.append(values)

    def take(self, more: int) -> tuple[npt.NDArray[Any], ...]:
        """Index, track, category, name and the ``more`` columns; empties this store, one column after the other."""
        columns, self._columns = self._columns, []
        if not columns:
            nothing, codes = np.empty(0, np.int64), np.empty(0, np.int32)
            return (nothing, codes, codes, codes, *[nothing] * more)
        return tuple(_joined(parts) for parts in columns)


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    whole = np.concatenate(parts)
    parts.clear()  # a large capture must not lie in memory twice
    return whole


class EventColumns:
    """Grows by batches of events; tracks are (process, thread) pairs, numbered as they appear."""

    def __init__(self, notes: Notes, file: str, unused_flows: Collection[str] = ()) -> None:
        self.notes = notes
        self.file = file
        self.unused_flows = frozenset(unused_flows)
        self.names = Codes()
        self.categories = Codes()
        self.tracks = Codes()
        self.flow_ids = Codes()
        self.metadata: dict[tuple[str, Any, Any], dict[str, Any]] = {}
        self.complete = Columns()  # more: start, duration
        self.flows = Columns()  # more: time, id, phase
        self.instants = Columns()  # more: time
        self.pairs = Columns()  # more: time, id, phase
        self.events = 0
        self._sorts = _Sorts(self._columns_of)

    def add(self, events: list[Event]) -> dict[str, Batch]:
        """Take a batch in; returned by phase, for what a format knows about its events: ``X`` complete,
        ``i`` instant, ``C`` counter, ``B`` begins and ends, ``s`` flows. Instants are left to the caller, because
        some are not for the timeline.
        """
        # In this way columns are taken out of the events without running Python for each of them.
        fields = list(zip(*map(astuple, events), strict=True)) or [()] * len(Event.__struct_fields__)
        phase, *_, time, duration, arguments, ids = fields
        sorts = map(self._sorts.__getitem__, zip(*fields[_SORT_FIELDS], strict=True))
        sort = np.fromiter(sorts, np.int32, len(events))
        family, track, category, name = (column[sort] for column in self._sorts.columns())
        moments = nanoseconds(time)
        places = {letter: np.flatnonzero(family == code) for code, letter in enumerate(_FAMILIES)}
        batches = {
            letter: Batch(
                chosen + self.events,
                track[chosen],
                category[chosen],
                name[chosen],
                moments[chosen],
                list(map(bytes, _pick(arguments, chosen))),
            )
            for letter, chosen in places.items()
        }
        for place in np.flatnonzero(family == _OTHER).tolist():
            self._add_other(events[place], self.events + place)
        self.events += len(events)
        self.complete.add(batches["X"], batches["X"].time, nanoseconds(_pick(duration, places["X"])))
        for columns, letter in ((self.pairs, "B"), (self.flows, "s")):
            if len(batches[letter]):
                letters = np.fromiter(map(ord, _pick(phase, places[letter])), np.int64, len(batches[letter]))
                columns.add(batches[letter], batches[letter].time, self._ids(_pick(ids, places[letter])), letters)
        return batches

    def add_instants(self, batch: Batch) -> None:
        self.instants.add(batch, batch.time)

    def slices(self) -> tuple[npt.NDArray[Any], ...]:
        """Index, track, category, name, start, duration of all that becomes a slice, and whether it is a mark: first
        the complete events, in file order, then begins with their ends, then instants with duration 0.
        """
        marks = self.instants.take(1)
        self.complete.extend(*pair(self.pairs.take(3), self.tracks, self.notes, self.file))
        self.complete.extend(*marks, np.zeros(len(marks[0]), np.int64))
        columns = self.complete.take(2)
        is_mark = np.zeros(len(columns[0]), np.bool_)
        is_mark[len(columns[0]) - len(marks[0]) :] = True
        return (*columns, is_mark)

    def _columns_of(self, phase: str | None, category: Any, name: Any, pid: Any, tid: Any) -> tuple[int, int, int, int]:
        """Family, track, category and name of events that have these fields in common."""
        family = _FAMILY_OF.get(phase, _OTHER)
        if family == _FLOW and category in self.unused_flows:
            family = _UNUSED
        if family < 0:
            return family, 0, 0, 0
        return family, self.tracks[pid, tid], self.categories[category], self.names[name]

    def _ids(self, raws: Sequence[msgspec.Raw]) -> Int64s:
        return np.fromiter(map(self.flow_ids.__getitem__, map(bytes, raws)), np.int64, len(raws))

    def _add_other(self, event: Event, index: int) -> None:
        if event.ph == "M":
            # Writers repeat these by the hundred thousand, so the last one stands for all.
            self.metadata[event.name or "", event.pid, event.tid] = arguments(event.args)
        elif event.ph is not None:
            self.notes.add("event_phase_ignored", file=self.file, place=f"event {index}", phase=event.ph[:20])
        elif event != Event():  # JAX ends its array with an empty object
            self.notes.add("event_without_phase", file=self.file, place=f"event {index}")


def details(batch: Batch) -> pl.DataFrame:
    """Rows of ``details``: the arguments of each event, as the file has them."""
    having = np.flatnonzero(batch.argument_lengths > len("{}"))
    if not len(having):
        return pl.DataFrame()
    raws = _pick(batch.arguments, having)
    try:
        texts = pl.Series(raws, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:  # not UTF-8
        texts = pl.Series([raw.decode("utf-8", "replace") for raw in raws], dtype=pl.String)
    return pl.DataFrame({"slice": batch.index[having], "json": texts})


def arguments(raw: bytes | msgspec.Raw) -> dict[str, Any]:
    """The arguments of one event as a dictionary; empty if there are none, or none that can be read."""
    if not raw:
        return {}
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def integers(values: Sequence[Any]) -> Int64s:
    """A column of integers; what is none, or does not fit, becomes NULL."""
    try:
        return np.fromiter(values, np.int64, len(values))
    except (TypeError, ValueError, OverflowError):
        return np.fromiter(map(_integer, values), np.int64, len(values))


def _integer(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return NULL
    return number if -(1 << 63) < number < 1 << 63 else NULL


def nullable(values: Int64s, name: str = "") -> pl.Series:
    """An integer column with NULL turned into null."""
    series = pl.Series(name, values)
    missing = values == NULL
    return series.set(pl.Series(missing), None) if bool(missing.any()) else series


def categorical(codes: npt.NDArray[np.integer[Any]], texts: Sequence[str | None]) -> pl.Series:
    """A text column from codes; a negative code is null."""
    words = pl.Series(list(texts), dtype=pl.String).cast(pl.Categorical)
    places = pl.Series(codes.astype(np.int64, copy=False))
    return (
        words.gather(places.set(places < 0, None))
        if len(words)
        else pl.Series([None] * len(codes), dtype=pl.Categorical)
    )
