"""The slices of one rank while they are being understood: NumPy columns, by position, and their nesting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int8s, Int32s, Int64s
from stepscope.readers.files.exact_time import LARGEST_NS
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import nullable
from stepscope.store.freed_memory import give_back
from stepscope.store.nesting import Nesting, nest
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter
from stepscope.store.schema import SLICE_KINDS, Kind

KIND: Final = {name: code for code, name in enumerate(SLICE_KINDS)}

_DAY_NS: Final = 86_400 * 10**9
_LONGEST_NS: Final = 7 * _DAY_NS  # longer ones are overflows of the device's clock
_ROWS_AT_ONCE: Final = 1 << 17
_MANY_ROWS: Final = _ROWS_AT_ONCE  # from here on memory is worth a thought


@dataclass
class SliceTable:
    """All arrays have one entry per slice; a position is an index into them."""

    id: Int64s
    track: Int32s
    start: Int64s
    dur: Int64s
    name: Int32s
    names: Codes
    kind: Int8s
    nesting: Nesting = field(init=False)
    #: Further columns of the ``slices`` table: integer arrays with NULL, or (codes, texts) pairs.
    integers: dict[str, Int64s] = field(default_factory=dict)
    texts: dict[str, tuple[npt.NDArray[Any], list[str | None]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self) >= _MANY_ROWS:
            give_back()  # what reading needed
        self.nesting = nest(self.track, self.start, self.dur)

    @property
    def end(self) -> Int64s:
        return self.nesting.end

    @property
    def parent(self) -> Int64s:
        return self.nesting.parent

    def __len__(self) -> int:
        return len(self.id)

    def is_kind(self, first: str, *others: str) -> Bools:
        matching: Bools = self.kind == KIND[first]
        for kind in others:
            matching |= self.kind == KIND[kind]
        return matching

    def write(self, out: RankWriter) -> None:
        """Into the ``slices`` table, sorted by track, row and start."""
        if len(self) >= _MANY_ROWS:
            give_back()  # what understanding needed
        nesting = self.nesting
        order = nesting.by_row()
        words = {column: _words(texts) for column, (_, texts) in self.texts.items()}
        names, kinds = _words(self.names.texts()), pl.Series(SLICE_KINDS, dtype=Kind)
        for first in range(0, len(order), _ROWS_AT_ONCE):
            piece = order[first : first + _ROWS_AT_ONCE]
            parent = nesting.parent[piece]
            frame = {
                "slice": pl.Series(self.id[piece]),
                "track": pl.Series(self.track[piece]),
                "row": pl.Series(nesting.row[piece]),
                "parent": nullable(np.where(parent == NONE, NULL, self.id[parent])),
                "start_ns": pl.Series(self.start[piece]),
                "dur_ns": pl.Series(self.dur[piece]),
                "name": _in_words(self.name[piece], names),
                "kind": _in_words(self.kind[piece], kinds),
            }
            frame |= {column: nullable(values[piece]) for column, values in self.integers.items()}
            frame |= {column: _in_words(codes[piece], words[column]) for column, (codes, _) in self.texts.items()}
            out.add("slices", pl.DataFrame(frame))


def _words(texts: Sequence[str | None]) -> pl.Series:
    """What codes stand for, and a null at the end, for -1."""
    return pl.Series([*texts, None], dtype=pl.String).cast(pl.Categorical)


def _in_words(codes: npt.NDArray[Any], words: pl.Series) -> pl.Series:
    return words.gather(codes.astype(np.int64, copy=False))


def believable(start: Int64s, dur: Int64s, notes: Notes, file: str) -> tuple[Bools, Int64s]:
    """Which events have a time that can be true, and their durations mended; the rest is noted."""
    if len(start) and _all_plain(start, dur):
        return np.ones(len(start), np.bool_), dur
    placed = (start != NULL) & (np.abs(start) <= LARGEST_NS)
    notes.add("event_without_time", file=file, count=int((~placed).sum()))
    absent = placed & (dur == NULL)
    negative = placed & (dur < 0) & ~absent
    notes.add("duration_missing", file=file, count=int(absent.sum()))
    notes.add("duration_negative", file=file, count=int(negative.sum()))
    dur = np.where(absent | negative, 0, dur)
    too_long = placed & (dur > _LONGEST_NS)
    notes.add("duration_absurd", file=file, count=int(too_long.sum()))
    keep = placed & ~too_long
    if keep.any():
        # One event at time 0 would stretch the axis to 1970.
        far = keep & (np.abs(start - int(np.median(start[keep]))) > _DAY_NS)
        notes.add("event_far_away", file=file, count=int(far.sum()))
        keep &= ~far
    return keep, dur


def _all_plain(start: Int64s, dur: Int64s) -> bool:
    """Whether a glance at the extremes shows that all is well; in nearly all files it does."""
    first, last = int(start.min()), int(start.max())
    near = first >= -LARGEST_NS and last <= LARGEST_NS and last - first <= _DAY_NS
    return near and int(dur.min()) >= 0 and int(dur.max()) <= _LONGEST_NS
