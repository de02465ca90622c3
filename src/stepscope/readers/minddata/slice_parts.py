"""Slices of one rank that come out of several files, joined into one table with ids in the order of reading."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.readers.codes import Codes
from stepscope.readers.event_columns import NULL
from stepscope.readers.minddata.put import put
from stepscope.readers.slice_table import KIND, SliceTable, believable
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

Int64s = npt.NDArray[np.int64]

_CORE: Final = {"track": pl.Int32, "start_ns": pl.Int64, "dur_ns": pl.Int64, "name": pl.String, "kind": pl.String}
_INTEGERS: Final = ("stream", "bytes")
_TEXTS: Final = ("phase", "operator", "type", "core", "module", "input_shapes", "output_shapes", "dtypes", "formats")
_SCHEMA: Final[dict[str, Any]] = (
    _CORE
    | dict.fromkeys(_INTEGERS, pl.Int64)
    | dict.fromkeys(_TEXTS, pl.String)
    | {"json": pl.String, "file": pl.String}
)


class SliceParts:
    """Grows by frames with the columns track, start_ns, dur_ns, name and kind, and any of the further ones."""

    def __init__(self) -> None:
        self._frames: list[pl.DataFrame] = []

    def add(self, frame: pl.DataFrame, file: str) -> None:
        """Append the slices of a file."""
        self._frames.append(
            frame.with_columns(file=pl.lit(file)).select(
                pl.col(name).cast(kind) if name in (*frame.columns, "file") else pl.lit(None, kind).alias(name)
                for name, kind in _SCHEMA.items()
            )
        )

    def build(self, out: RankWriter, notes: Notes, source: str) -> SliceTable:
        """All that is believable as one table; writes their details. ``source`` names the capture in notes."""
        frame = pl.concat(self._frames) if self._frames else pl.DataFrame(schema=_SCHEMA)
        start = _integers(frame, "start_ns")
        dur = _integers(frame, "dur_ns")
        keep = np.zeros(len(start), np.bool_)
        for file in frame["file"].unique(maintain_order=True):
            here = (frame["file"] == file).to_numpy()
            keep[here], dur[here] = believable(start[here], dur[here], notes, str(file))
        # Files of one rank may be on different clocks, which shows only when they lie side by side.
        again, _ = believable(start[keep], dur[keep], notes, source)
        places = np.flatnonzero(keep)[again]
        chosen = frame[places]
        words, texts = codes_of(chosen["name"])
        names = Codes()
        for text in texts:
            names[text]
        slices = SliceTable(
            places,
            chosen["track"].to_numpy(),
            start[places],
            dur[places],
            words.astype(np.int32),
            names,
            chosen["kind"].replace_strict(KIND, return_dtype=pl.Int8).to_numpy(),
        )
        slices.integers = {name: _integers(chosen, name) for name in _INTEGERS}
        slices.texts = {name: codes_of(chosen[name]) for name in _TEXTS}
        told = chosen.with_columns(slice=pl.Series(places)).filter(pl.col("json").is_not_null())
        put(out, "details", told.select("slice", "json"))
        return slices


def codes_of(words: pl.Series) -> tuple[Int64s, list[str | None]]:
    """A text column as codes into the list of its words; -1 where there is none.

    >>> codes, words = codes_of(pl.Series(["b", None, "a", "b"])); codes.tolist(), words
    ([1, -1, 0, 1], ['a', 'b'])
    """
    codes = words.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    return codes, words.drop_nulls().unique().sort().to_list()


def _integers(frame: pl.DataFrame, name: str) -> Int64s:
    return frame[name].fill_null(NULL).to_numpy().copy()
