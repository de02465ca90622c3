"""Collects the slices of all tables of a database, and knows afterwards where each row of a table went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Int8s, Int32s, Int64s
from stepscope.readers.ascend_db.strings import UNKNOWN, Coded
from stepscope.readers.files.exact_time import LARGEST_NS
from stepscope.readers.slices.slice_table import SliceTable, believable
from stepscope.readers.slices.tracks import track_rows
from stepscope.readers.trace_json.codes import Codes
from stepscope.store.notes import Notes

#: Stands for "no context", "no connection", "no model", "local rank".
NO_VALUE: Final = 4294967295


@dataclass(frozen=True)
class Layer:
    """A group of tracks, as the vendor's own timeline has it."""

    name: str
    label: str
    order: int  # from the top


@dataclass
class Part:
    """The slices of one table, row by row."""

    table: str
    track: Int32s
    start: Int64s
    end: Int64s
    name: Int32s
    kind: Int8s
    integers: dict[str, Int64s] = field(default_factory=dict)
    texts: dict[str, Coded] = field(default_factory=dict)


@dataclass
class DatabaseTimeline:
    """Parts are added in a fixed order, so that the number of a slice depends on the file only."""

    names: Codes = field(default_factory=Codes)
    tracks: Codes = field(default_factory=Codes)
    kinds: dict[int, str] = field(default_factory=dict)  # of tracks
    _labels: dict[tuple[str, Any, Any], dict[str, Any]] = field(default_factory=dict)
    _parts: list[Part] = field(default_factory=list)
    #: Position in the slice table of each row of a table, NONE where the row was dropped. Filled by :meth:`slices`.
    position: dict[str, Int64s] = field(default_factory=dict)

    def add(self, part: Part) -> None:
        self._parts.append(part)

    def name(self, text: str | None) -> int:
        """The code of a slice's name."""
        return self.names[text or UNKNOWN]

    def track(
        self, kind: str, layer: Layer, thread: Any, name: str, number: int | None = None, sort_index: int = 0
    ) -> int:
        """The number of a track. ``number`` tells processes or devices of one layer apart, where there are several."""
        process = layer.name if number is None else f"{layer.name} {number}"
        track = self.tracks[process, thread]
        if track not in self.kinds:
            self.kinds[track] = kind
            self._labels["process_name", process, None] = {"name": process}
            self._labels["process_labels", process, None] = {"labels": layer.label}
            self._labels["process_sort_index", process, None] = {"sort_index": layer.order}
            self._labels["thread_name", process, thread] = {"name": name}
            self._labels["thread_sort_index", process, thread] = {"sort_index": sort_index}
        return track

    def slices(self, notes: Notes, file: str) -> SliceTable:
        """All parts as one table of slices; what has no believable time is left out and noted."""
        parts = self._parts
        counts = [len(part.start) for part in parts]
        start, end = (_times([getattr(part, edge) for part in parts]) for edge in ("start", "end"))
        dur = np.where((start == NULL) | (end == NULL), NULL, end - start)
        keep, dur = believable(start, dur, notes, file)
        position = np.where(keep, np.cumsum(keep) - 1, NONE)
        first = np.concatenate(([0], np.cumsum(counts))).tolist()
        for part, low, high in zip(parts, first[:-1], first[1:], strict=True):
            self.position[part.table] = position[low:high]
        slices = SliceTable(
            np.flatnonzero(keep),
            _joined([part.track for part in parts]).astype(np.int32)[keep],
            start[keep],
            dur[keep],
            _joined([part.name for part in parts]).astype(np.int32)[keep],
            self.names,
            _joined([part.kind for part in parts]).astype(np.int8)[keep],
        )
        for column in dict.fromkeys(name for part in parts for name in part.integers):
            values = [
                part.integers.get(column, np.full(count, NULL)) for part, count in zip(parts, counts, strict=True)
            ]
            slices.integers[column] = _joined(values)[keep]
        for column in dict.fromkeys(name for part in parts for name in part.texts):
            slices.texts[column] = self._texts(column, counts, keep)
        return slices

    def track_rows(self) -> pl.DataFrame:
        """Rows of ``tracks``."""
        return track_rows(self.tracks, self._labels, self.kinds)

    def _texts(self, column: str, counts: list[int], keep: npt.NDArray[np.bool_]) -> Coded:
        codes: list[npt.NDArray[Any]] = []
        texts: list[str | None] = []
        for part, count in zip(self._parts, counts, strict=True):
            own_codes, own_texts = part.texts.get(column, (np.full(count, -1, np.int64), []))
            codes.append(np.where(own_codes < 0, -1, own_codes + len(texts)).astype(np.int32))
            texts += own_texts
        return _joined(codes)[keep], texts


def numbers(column: pl.Series) -> Int64s:
    """An integer column as NumPy has it, with NULL where it is null."""
    whole = column if column.dtype == pl.Int64 else column.cast(pl.Int64)
    return (whole.fill_null(NULL) if whole.null_count() else whole).to_numpy()


def connections(column: pl.Series) -> Int64s:
    """Connection ids, NULL where the vendor writes that there is none."""
    ids = numbers(column)
    return np.where((ids == NO_VALUE) | (ids < 0), NULL, ids)


def _times(columns: list[Int64s]) -> Int64s:
    times = _joined(columns)
    return np.where((times < 0) | (times > LARGEST_NS), NULL, times)


def _joined(columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(columns) if columns else np.empty(0, np.int64)
