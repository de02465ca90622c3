"""Chrome trace events as columns: what all formats that use this skeleton have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NULL, Int32s, Int64s
from stepscope.readers.trace_json.begin_end import pair, pair_details
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_batches import DecodedEvents, ScannedEvents, Sort, field, pick
from stepscope.readers.trace_json.event_identity import counter_label
from stepscope.readers.trace_json.trace_event import ABSENT, Event
from stepscope.store.notes import Notes

if TYPE_CHECKING:
    from stepscope.readers.trace_json.event_scanner import Scan


# Events of a trace by phase; what they have in common is the letter of the first.
_FAMILIES: Final = {"X": "X", "s": "stf", "i": "iIRPn", "C": "C", "B": "BEbeSF"}
_FLOW: Final = list(_FAMILIES).index("s")
_OTHER, _UNUSED = -1, -2
_FAMILY_OF: Final[dict[str | None, int]] = {
    phase: code for code, phases in enumerate(_FAMILIES.values()) for phase in phases
}

#: Phase of a flow's end that belongs to the next slice of its thread, not to the one around it.
ENDS_AT_NEXT: Final = ord("F")
_YES: Final = msgspec.Raw(b"true")


class _Sorts(dict[Sort, int]):
    """Numbers for the sorts of events, which are those that differ in time and arguments only."""

    def __init__(self, columns_of: Callable[..., tuple[int, ...]]) -> None:
        super().__init__()
        self._columns_of = columns_of
        self._new: list[tuple[int, ...]] = []
        self._table = np.zeros((5, 1024), np.int32)
        self._filled = 0

    def __missing__(self, fields: Sort) -> int:
        self[fields] = code = len(self)
        self._new.append(self._columns_of(*fields))
        return code

    def columns(self) -> npt.NDArray[np.int32]:
        """Family, track, category, name and letter by number."""
        if self._new:
            # In some files each event has a name of its own, so the table may grow with every batch.
            filled = self._filled + len(self._new)
            if filled > self._table.shape[1]:
                self._table = np.pad(self._table, ((0, 0), (0, filled)))
            self._table[:, self._filled : filled] = np.array(self._new, np.int32).T
            self._new, self._filled = [], filled
        return self._table


@dataclass
class Batch:
    """Events of one kind out of one batch of the file, in file order."""

    index: Int64s  # number of each event in its file
    track: Int32s
    category: Int32s
    name: Int32s
    time: Int64s  # when it is, or begins, in the file's own ns
    arguments: Sequence[bytes]  # as text, empty where there are none
    argument_lengths: Int64s
    indices: Int64s  # among the events that were read together
    scan: Scan | None  # which knows the arguments by name

    def __len__(self) -> int:
        return len(self.index)

    def only(self, rows: Int64s) -> Batch:
        """Those rows."""
        if len(rows) == len(self):
            return self
        return Batch(
            self.index[rows],
            self.track[rows],
            self.category[rows],
            self.name[rows],
            self.time[rows],
            pick(self.arguments, rows),
            self.argument_lengths[rows],
            self.indices[rows],
            self.scan,
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
    """Grows by batches of events; tracks are (process, thread) pairs, numbered as they appear.

    ``own_process`` gives the number that a process is to have, None for one whose events do not belong here.
    """

    def __init__(
        self,
        notes: Notes,
        file: str,
        unused_flows: Collection[str] = (),
        own_process: Callable[[Any], Any] | None = None,
    ) -> None:
        self.notes = notes
        self.file = file
        self.unused_flows = frozenset(unused_flows)
        self.own_process = own_process
        self.names = Codes()
        self.categories = Codes()
        self.tracks = Codes()
        self.flow_ids = Codes()
        self.metadata: dict[tuple[str, Any, Any], dict[str, Any]] = {}
        self.complete = Columns()  # more: start, duration
        self.flows = Columns()  # more: time, id, phase
        self.bound_flows = Columns()  # of slices that say it themselves: index, id, whether one comes in, goes out
        self.instants = Columns()  # more: time
        self.pairs = Columns()  # more: time, id, phase
        self.pair_details = pl.DataFrame()  # rows of ``details`` for begins and ends, once the slices are taken
        self.frames: dict[int, bytes] = {}  # references to call stacks, by event
        self.events = 0
        self._pair_arguments: dict[int, bytes] = {}
        self._sorts = _Sorts(self._columns_of)

    def add(self, events: DecodedEvents | ScannedEvents) -> dict[str, Batch]:
        """Take a batch in; returned by phase, for what a format knows about its events: ``X`` complete,
        ``i`` instant, ``C`` counter, ``B`` begins and ends, ``s`` flows. Instants are left to the caller, because
        some are not for the timeline. Arguments of begins and ends wait in here for ``pair_details``.
        """
        sort = events.sorts(self._sorts.__getitem__)
        family, track, category, name, letter = (column[sort] for column in self._sorts.columns())
        times = events.times()
        chosen_of_phase = {phase: np.flatnonzero(family == code) for code, phase in enumerate(_FAMILIES)}
        batches = {
            phase: Batch(
                chosen + self.events,
                track[chosen],
                category[chosen],
                name[chosen],
                times[chosen],
                events.arguments(chosen),
                events.argument_lengths(chosen),
                chosen,
                events.scan,
            )
            for phase, chosen in chosen_of_phase.items()
        }
        for index in np.flatnonzero(family == _OTHER).tolist():
            self._add_other(events.event(index), self.events + index)
        if isinstance(events, DecodedEvents):
            self._add_references(events.objects)
        self.complete.add(batches["X"], batches["X"].time, events.durations(chosen_of_phase["X"]))
        for phase, columns in (("B", self.pairs), ("s", self.flows)):
            if len(chosen_of_phase[phase]):
                ids = map(self.flow_ids.__getitem__, events.identities(chosen_of_phase[phase]))
                numbers = np.fromiter(ids, np.int64, len(chosen_of_phase[phase]))
                columns.add(
                    batches[phase], batches[phase].time, numbers, letter[chosen_of_phase[phase]].astype(np.int64)
                )
        if len(batches["B"]):
            batches["B"] = self._without_arguments(batches["B"])
        if events.have_ids(chosen_of_phase["C"]):
            self._tell_counters_apart(batches["C"], events)
        self.events += len(events)
        return batches

    def add_instants(self, batch: Batch) -> None:
        self.instants.add(batch, batch.time)

    def slices(self) -> tuple[npt.NDArray[Any], ...]:
        """Index, track, category, name, start, duration of all that becomes a slice, and whether it is a mark: first
        the complete events, in file order, then begins with their ends, then instants with duration 0.
        """
        marks = self.instants.take(1)
        pairs = pair(self.pairs.take(3), self.tracks, self.notes, self.file)
        self.pair_details = pair_details(pairs, self._pair_arguments)
        self._pair_arguments = {}
        self.complete.extend(*pairs.slices)
        self.complete.extend(*marks, np.zeros(len(marks[0]), np.int64))
        columns = self.complete.take(2)
        is_mark = np.zeros(len(columns[0]), np.bool_)
        is_mark[len(columns[0]) - len(marks[0]) :] = True
        return (*columns, is_mark)

    def _columns_of(
        self, phase: str | None, category: Any, name: Any, pid: Any, tid: Any, ends_around: bool
    ) -> tuple[int, int, int, int, int]:
        """Family, track, category, name and letter of the phase of events that have these fields in common."""
        family = _FAMILY_OF.get(phase, _OTHER)
        if family == _FLOW and category in self.unused_flows:
            family = _UNUSED
        if phase is None or family < 0:
            return family, 0, 0, 0, 0
        if self.own_process is not None and (pid := self.own_process(pid)) is None:
            return _UNUSED, 0, 0, 0, 0
        letter = ENDS_AT_NEXT if phase == "f" and not ends_around else ord(phase)
        if family == _FLOW:
            name = None  # it means nothing, and Ascend's have one each
        return family, self.tracks[pid, tid], self.categories[category], self.names[name], letter

    def _without_arguments(self, batch: Batch) -> Batch:
        """A slice has the arguments of its begin and its end, and they meet when the whole file is read."""
        for index in np.flatnonzero(batch.argument_lengths > len("{}")).tolist():
            self._pair_arguments[int(batch.index[index])] = batch.arguments[index]
        return replace(batch, arguments=[b""] * len(batch), argument_lengths=np.zeros(len(batch), np.int64))

    def _tell_counters_apart(self, batch: Batch, events: DecodedEvents | ScannedEvents) -> None:
        """The id of a counter is part of its name."""
        for index, event in enumerate(map(events.event, batch.indices.tolist())):
            if (event.id or event.id2) and (label := counter_label(event)):
                batch.name[index] = self.names[f"{event.name or ''}[{label}]"]

    def _add_references(self, events: list[Event]) -> None:
        """What few files have: slices that name the flows through them, or their call stack."""
        flows, frames = field(events, "bind_id"), field(events, "sf")
        if flows.count(ABSENT) < len(events):
            indices = [index for index, value in enumerate(flows) if value]
            self.bound_flows.extend(
                np.array(indices, np.int64) + self.events,
                np.fromiter((self.flow_ids[bytes(flows[index])] for index in indices), np.int64, len(indices)),
                np.array([events[index].flow_in == _YES for index in indices], np.bool_),
                np.array([events[index].flow_out == _YES for index in indices], np.bool_),
            )
        if frames.count(ABSENT) < len(events):
            self.frames |= {self.events + index: bytes(value) for index, value in enumerate(frames) if value}

    def _add_other(self, event: Event, index: int) -> None:
        if event.ph == "M":
            pid = event.pid if self.own_process is None else self.own_process(event.pid)
            if pid is not None or self.own_process is None:
                # Writers repeat these by the hundred thousand, so the last one stands for all.
                self.metadata[event.name or "", pid, event.tid] = arguments(event.args)
        elif event.ph is not None:
            self.notes.add("event_phase_ignored", file=self.file, place=f"event {index}", phase=event.ph[:20])
        elif event != Event():  # JAX ends its array with an empty object
            self.notes.add("event_without_phase", file=self.file, place=f"event {index}")


def details(batch: Batch) -> pl.DataFrame:
    """Rows of ``details``: the arguments of each event, as the file has them."""
    having = np.flatnonzero(batch.argument_lengths > len("{}"))
    if not len(having):
        return pl.DataFrame()
    raws = pick(batch.arguments, having)
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
        decoded = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


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
    indices = pl.Series(codes.astype(np.int64, copy=False))
    return (
        words.gather(indices.set(indices < 0, None))
        if len(words)
        else pl.Series([None] * len(codes), dtype=pl.Categorical)
    )
