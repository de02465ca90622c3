"""Slices of one rank that come out of several files, joined into one table with ids in the order of reading."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.slices.track_numbers import TrackNumbers
from stepscope.readers.trace_json.codes import Codes
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

_INTEGERS: Final = ("stream", "bytes")
_TEXTS: Final = ("phase", "operator", "type", "core", "module", "input_shapes", "output_shapes", "dtypes", "formats")
_SCHEMA: Final[dict[str, Any]] = (
    {"track": pl.Int32, "start_ns": pl.Int64, "dur_ns": pl.Int64, "name": pl.Categorical, "kind": pl.Categorical}
    | dict.fromkeys(_INTEGERS, pl.Int64)
    | dict.fromkeys(_TEXTS, pl.Categorical)
    | {"json": pl.String}
)
_ALWAYS: Final = ("track", "start_ns", "dur_ns", "name", "kind")


class SliceParts:
    """Grows by frames with the columns track, start_ns, dur_ns, name and kind, and any of the further ones.

    ``tracks`` has the numbers for the column track.
    """

    def __init__(self, tracks: TrackNumbers | None = None) -> None:
        self.tracks = tracks or TrackNumbers()
        self._frames: list[tuple[str, pl.DataFrame]] = []

    def add(self, frame: pl.DataFrame, file: str) -> None:
        """Append the slices of a file."""
        known = [pl.col(name).cast(kind) for name, kind in _SCHEMA.items() if name in frame.columns]
        self._frames.append((file, frame.select(known)))

    def build(self, out: RankWriter, notes: Notes, source: str) -> SliceTable:
        """All that is believable as one table; writes their details. ``source`` names the capture in notes."""
        nothing = pl.DataFrame(schema=_SCHEMA).select(*_ALWAYS)
        frame = pl.concat([nothing, *(frame for _, frame in self._frames)], how="diagonal")
        start, dur = _integers(frame, "start_ns"), _integers(frame, "dur_ns")
        keep = np.zeros(len(start), np.bool_)
        first = 0
        for file, part in self._frames:
            here = slice(first, first + part.height)
            keep[here], dur[here] = believable(start[here], dur[here], notes, file)
            first += part.height
        self._frames = []
        # Files of one rank may be on different clocks, which shows only when they lie side by side.
        again, _ = believable(start[keep], dur[keep], notes, source)
        kept = np.flatnonzero(keep)[again]
        chosen = frame if len(kept) == frame.height else frame[kept]
        words, texts = codes_of(chosen["name"])
        names = Codes()
        for text in texts:
            names[text]
        kinds, kind_texts = codes_of(chosen["kind"])
        slices = SliceTable(
            kept,
            chosen["track"].to_numpy(),
            start[kept],
            dur[kept],
            words.astype(np.int32),
            names,
            np.array([KIND[str(kind)] for kind in kind_texts] or [0], np.int8)[kinds],
        )
        slices.integers = {name: _integers(chosen, name) for name in _INTEGERS}
        slices.texts = {name: codes_of(chosen[name]) for name in _TEXTS if name in chosen.columns}
        slices.texts.setdefault("type", (np.full(len(kept), -1, np.int64), []))
        if "json" in chosen.columns:
            told = chosen.select("json").with_columns(slice=pl.Series(kept)).filter(pl.col("json").is_not_null())
            out.add("details", told)
        return slices


def codes_of(words: pl.Series) -> tuple[Int64s, list[str | None]]:
    """A text column as codes into the list of its words; -1 where there is none.

    >>> codes, words = codes_of(pl.Series(["b", None, "a", "b"])); codes.tolist(), words
    ([1, -1, 0, 1], ['a', 'b'])
    """
    known = words.drop_nulls().unique().cast(pl.String).sort()
    if known.is_empty():
        return np.full(len(words), -1, np.int64), []
    codes = words.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(-1)
    return codes.to_numpy(), known.to_list()


def _integers(frame: pl.DataFrame, name: str) -> Int64s:
    if name not in frame.columns:
        return np.full(frame.height, NULL, np.int64)
    return frame[name].fill_null(NULL).to_numpy().copy()
