"""CSV files of the vendor as columns of text, in pieces of bounded size, however they are quoted or damaged.

Cells are stripped of blanks, tabs and quotes; ``N/A`` and empty cells are null. Columns are found by name, in any
spelling of the same letters. What a reader does not take is told in a note.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.errors import UnreadableInputError
from stepscope.readers.files.exact_time import nanoseconds
from stepscope.readers.files.raw_bytes import blocks
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes

_PIECE_BYTES: Final = 16 << 20
_MOST_UNQUOTED_BYTES: Final = 64 << 20  # a quote that never closes must not swallow the file
_NO_VALUE: Final = ("", "N/A", "NA", "None", "null", "nan")
_UNIT: Final = re.compile(r"\((KB|MB|GB|Bytes?|B)\)$", re.IGNORECASE)
_UNIT_BYTES: Final = {"b": 1, "byte": 1, "bytes": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
# Columns that only repeat which device the whole directory is about.
_DEVICE_COLUMNS: Final = frozenset(("deviceid", "devicetype", "device"))


@dataclass
class CsvTable:
    """One logical table: the pieces of it in order, each with its header."""

    paths: Sequence[Path]
    reading: Reading
    rows_read: int = 0

    @property
    def name(self) -> str:
        return self.paths[0].name

    def pieces(self) -> Iterator[Rows]:
        """The rows in pieces; afterwards what nobody asked for is noted."""
        left_over: dict[str, int] = {}
        for path in self.paths:
            for frame in filter(len, _frames(path, self.reading)):
                self.rows_read += frame.height
                rows = Rows(self, frame, {_plain(name): name for name in reversed(frame.columns)})
                yield rows
                for name in rows.unused():
                    left_over[name] = left_over.get(name, 0) + frame.height - frame[name].null_count()
        filled = {name: count for name, count in left_over.items() if count}
        if filled:
            self.reading.notes.add(
                "ascend_columns_unused", file=self.name, count=sum(filled.values()), columns=", ".join(filled)[:500]
            )


@dataclass
class Rows:
    """A piece of a table; every accessor gives one value per row."""

    table: CsvTable
    frame: pl.DataFrame
    names: dict[str, str]  # the header's spelling by its plain form
    used: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return self.frame.height

    def find(self, *names: str) -> str | None:
        """The header of the first of the names that the table has."""
        for name in names:
            if _plain(name) in self.names:
                self.used.add(_plain(name))
                return self.names[_plain(name)]
        return None

    def unused(self) -> list[str]:
        """Headers of the columns that nobody asked for yet."""
        skipped = self.used | _DEVICE_COLUMNS
        return [header for header in self.frame.columns if _plain(header) not in skipped]

    def numbers(self, *index: pl.Series) -> pl.DataFrame:
        """The unused columns that hold numbers, as float64, behind those given; other cells are null, and noted."""
        texts = self.frame.select(self.unused())
        values = texts.cast(pl.Float64, strict=False).select(pl.when(pl.all().is_finite()).then(pl.all()))
        lost = [ours - theirs for ours, theirs in zip(_nulls(values), _nulls(texts), strict=True)]
        numeric = [name for name, nulls in zip(texts.columns, _nulls(values), strict=True) if nulls < len(self)]
        for name, count in zip(texts.columns, lost, strict=True):
            if name in numeric:
                self.used.add(_plain(name))
                self.table.reading.notes.add("ascend_cell_unreadable", file=self.table.name, count=count, column=name)
        return pl.DataFrame([*index, *(values[name] for name in numeric)])

    def text(self, *names: str) -> pl.Series:
        column = self.find(*names)
        return self.frame[column] if column else pl.Series([None] * len(self), dtype=pl.String)

    def number(self, *names: str) -> pl.Series:
        """As float64; cells that are no finite number are null, and noted."""
        text = self.text(*names)
        values = text.cast(pl.Float64, strict=False)
        values = values.set(~values.is_finite().fill_null(True), None)
        bad = values.null_count() - text.null_count()
        self.table.reading.notes.add("ascend_cell_unreadable", file=self.table.name, count=bad, column=names[0])
        return values

    def integer(self, *names: str) -> pl.Series:
        """As int64, also from texts like 12.0; what does not fit is null."""
        text = self.text(*names)
        exact = text.cast(pl.Int64, strict=False)
        if exact.null_count() == text.null_count():
            return exact
        rounded = text.cast(pl.Float64, strict=False)
        fits = (rounded.is_finite() & (rounded.abs() < 2**62) & (rounded == rounded.floor())).fill_null(False)
        return exact.zip_with(exact.is_not_null() | ~fits, rounded.set(~fits, None).cast(pl.Int64))

    def time(self, *names: str) -> Int64s:
        """Microseconds as exact nanoseconds, NULL where there are none; spreadsheets' 1.7E+15 is none, and noted."""
        text = self.text(*names)
        result = np.full(len(self), NULL, np.int64)
        given = text.is_not_null()
        damaged = given & text.str.contains("[eE]").fill_null(False)
        self.table.reading.notes.add(
            "ascend_time_damaged", file=self.table.name, count=int(damaged.sum()), column=names[0]
        )
        usable = (given & ~damaged).to_numpy()
        result[usable] = nanoseconds(text.filter(pl.Series(usable)).cast(pl.Binary).to_list())
        bad = int((result[usable] == NULL).sum())
        self.table.reading.notes.add("ascend_cell_unreadable", file=self.table.name, count=bad, column=names[0])
        return result

    def size(self, *names: str) -> pl.Series:
        """Bytes of a column whose header ends in its unit: ``Total Reserved(MB)`` for ``Total Reserved``."""
        for name in names:
            for plain, header in self.names.items():
                unit = _UNIT.search(header)
                if unit and _plain(header[: unit.start()]) == _plain(name):
                    self.used.add(plain)
                    scaled = (self.number(header) * _UNIT_BYTES[unit[1].lower()]).round()
                    return scaled.set((scaled.abs() >= 2**62).fill_null(False), None).cast(pl.Int64)
        return pl.Series([None] * len(self), dtype=pl.Int64)

    def skip(self, *names: str) -> None:
        """Columns that repeat what others say."""
        self.used.update(map(_plain, names))


def _nulls(frame: pl.DataFrame) -> list[int]:
    return list(frame.null_count().row(0)) if frame.width else []


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "", name).lower()


def _frames(path: Path, reading: Reading) -> Iterator[pl.DataFrame]:
    header = b""
    try:
        for piece in _records(path, reading):
            if not header:
                header, line_end, piece = piece.removeprefix(b"\xef\xbb\xbf").partition(b"\n")  # noqa: PLW2901
                header = header.rstrip(b"\r") + b"\n"
                if b"," not in header.strip(b" \t,\n") or b"\0" in header:
                    reading.notes.add("ascend_file_unreadable", file=path.name)
                    return
                if not line_end:
                    reading.notes.add("ascend_row_cut", file=path.name)
            if piece.strip(b" \t\r\n"):
                yield _clean(_decode(header + piece, path, reading.notes))
        if not header:
            reading.notes.add("ascend_file_empty", file=path.name)
    except (UnreadableInputError, OSError):
        reading.notes.add("ascend_file_unreadable", file=path.name)


def _records(path: Path, reading: Reading) -> Iterator[bytes]:
    """The text in pieces that end behind a record: at a line end outside quotes."""
    text = b""
    for block in blocks(path, reading.notes, reading.on_read):
        text += block
        if len(text) < _PIECE_BYTES:
            continue
        cut = text.rfind(b"\n")
        while cut > 0 and text.count(b'"', 0, cut) % 2:
            cut = text.rfind(b"\n", 0, cut)
        if cut <= 0 and len(text) > _MOST_UNQUOTED_BYTES:
            cut = text.rfind(b"\n")
            if cut <= 0:
                reading.notes.add("ascend_file_unreadable", file=path.name)
                return
        if cut > 0:
            yield text[: cut + 1]
            text = text[cut + 1 :]
    if text:
        yield text


def _decode(text: bytes, path: Path, notes: Notes) -> pl.DataFrame:
    if not text.endswith(b"\n"):
        text = _without_cut_row(text, path, notes)
    try:
        return pl.read_csv(text, infer_schema=False, encoding="utf8-lossy", raise_if_empty=False)
    except pl.exceptions.PolarsError:
        return _tolerantly(text, path, notes)


def _without_cut_row(text: bytes, path: Path, notes: Notes) -> bytes:
    """A last record without its end was cut when the writer died, and half a number is a wrong number."""
    border = text.rfind(b"\n")
    while border > 0 and text.count(b'"', 0, border) % 2:
        border = text.rfind(b"\n", 0, border)
    notes.add("ascend_row_cut", file=path.name)
    return text[: border + 1]


def _tolerantly(text: bytes, path: Path, notes: Notes) -> pl.DataFrame:
    """Row by row with the standard library's reader, for what the fast one refuses."""
    reader = csv.reader(io.StringIO(text.decode("utf-8", "replace").replace("\0", ""), newline=""))
    rows: list[list[str]] = []
    try:
        rows.extend(reader)
    except csv.Error:
        notes.add("ascend_row_dropped", file=path.name)
    header = list(dict.fromkeys(rows[0])) if rows else []
    width = len(rows[0]) if rows else 0
    good = [row for row in rows[1:] if len(row) == width]
    notes.add("ascend_row_dropped", file=path.name, count=sum(1 for row in rows[1:] if row and len(row) != width))
    if len(header) != width:
        return pl.DataFrame()
    return pl.DataFrame(good, schema=dict.fromkeys(header, pl.String), orient="row")


def _clean(frame: pl.DataFrame) -> pl.DataFrame:
    """Bare cells and bare headers, without the blank lines that editors leave at the end."""
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    bare = pl.all().str.strip_chars(' \t\r\n"')
    cells = frame.select(pl.when(~bare.is_in(_NO_VALUE)).then(bare))
    headers = {name.strip(' \t\r"\ufeff') or name: name for name in frame.columns}  # of two alike the last
    return cells.select(pl.col(name).alias(header) for header, name in headers.items())
