"""Text, CSV and JSON files of a capture, in whatever state they are: what cannot be read becomes a note."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.files import repair
from stepscope.readers.files.raw_bytes import blocks, head
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes

#: Files that are read whole are small; a larger one is not what its name says.
_MOST_BYTES: Final = 512 << 20
_LONGEST_LINE: Final = 64 << 20
_BOM: Final = b"\xef\xbb\xbf"


@dataclass
class Table:
    """A CSV file: names of the columns, and rows that all have as many cells."""

    header: list[str]
    rows: list[list[str]]

    def column(self, *names: str) -> int | None:
        """Index of the first of ``names`` that the file has, compared without case."""
        known = {name.lower(): index for index, name in reversed(list(enumerate(self.header)))}
        return next((known[name.lower()] for name in names if name.lower() in known), None)

    def records(self) -> Iterator[dict[str, str]]:
        """Each row by the names of its columns."""
        return (dict(zip(self.header, row, strict=True)) for row in self.rows)

    def cells(self, *names: str) -> list[str] | None:
        """The cells of a column."""
        index = self.column(*names)
        return None if index is None else [row[index] for row in self.rows]


def read_bytes(path: Path, reading: Reading) -> bytes:
    """The content of a file; empty, with a note, if it is empty, too large, or cannot be read."""
    content = bytearray()
    try:
        for block in blocks(path, reading.notes, reading.on_read):
            content += block
            if len(content) > _MOST_BYTES:
                reading.notes.add("mindspore_file_too_large", file=path.name, megabytes=_MOST_BYTES >> 20)
                return b""
    except UnreadableInputError as error:
        reading.notes.add("mindspore_file_unreadable", file=path.name, **error.as_reason())
        return b""
    if not content.strip():
        reading.notes.add("mindspore_file_empty", file=path.name)
        return b""
    return bytes(content[3:] if content.startswith(_BOM) else content)


def read_json(path: Path, reading: Reading) -> Any:
    """The value of a JSON file, numbers with a point as ``Decimal``; None, with a note, if it is none."""
    content = read_bytes(path, reading)
    if not content:
        return None
    value = repair.lenient(content)
    if value is None:
        reading.notes.add("mindspore_file_damaged", file=path.name)
    return value


def read_csv(path: Path, reading: Reading, delimiter: str = ",", ends_open: bool = False) -> Table | None:
    """A CSV file with a header; rows of another width are dropped with a note. None if there is no header.

    ``ends_open`` is for files that end without the end of a line when they are whole.
    """
    content = read_bytes(path, reading)
    if not content:
        return None
    text = content.decode("utf-8", "replace").replace("\0", "")
    if not ends_open:
        text = without_open_line(text, path, reading.notes)
    elif "\n" not in text:  # a header is followed by rows
        reading.notes.add("last_line_cut", file=path.name)
    return _table(list(_rows(text, delimiter, path, reading.notes)), path, reading.notes)


def read_text(path: Path, reading: Reading) -> list[str]:
    """The whole lines of a small file."""
    text = read_bytes(path, reading).decode("utf-8", "replace")
    return without_open_line(text, path, reading.notes).splitlines()


def without_open_line(text: str, path: Path, notes: Notes) -> str:
    """A last line without its end was cut: half a number is a wrong number."""
    end = "\n" if "\n" in text else "\r"
    half = end == "\r" and text.count(end) == 1  # of the two bytes of an end
    if not text or (text.endswith(end) and not half):
        return text
    whole = text[: text[:-1].rfind(end) + 1]
    if text[len(whole) :].strip():
        notes.add("last_line_cut", file=path.name)
    return whole


def lines(path: Path, reading: Reading) -> Iterator[pl.Series]:
    """The lines of a file in pieces of a few megabytes, without their ends; lines of nothing are left out."""
    rest = b""
    first = True
    try:
        for block in blocks(path, reading.notes, reading.on_read):
            piece = rest + (block[3:] if first and block.startswith(_BOM) else block)
            first = False
            cut = piece.rfind(b"\n") + 1
            rest = piece[cut:]
            if cut:
                yield _lines(piece[:cut])
            if len(rest) > _LONGEST_LINE:
                reading.notes.add("mindspore_rows_dropped", file=path.name, place="a line without end")
                rest = b""
    except UnreadableInputError as error:
        reading.notes.add("mindspore_file_unreadable", file=path.name, **error.as_reason())
        return
    if rest.strip():
        reading.notes.add("last_line_cut", file=path.name)
    elif first:
        reading.notes.add("mindspore_file_empty", file=path.name)


def first_line(path: Path) -> str:
    """The first line of a file that holds anything, as far as its first 64 KB go."""
    try:
        text = head(path).removeprefix(_BOM).decode("utf-8", "replace")
    except UnreadableInputError:
        return ""
    return next((line for line in text.splitlines() if line.strip()), "")


def matched(path: Path, pattern: str, reading: Reading, skip: int = 0) -> pl.DataFrame:
    """All lines that match ``pattern``, its named groups (the first not optional) as text columns; the rest is noted.

    The first ``skip`` lines are headings and count as neither.
    """
    parts = []
    skipped = 0
    for piece in lines(path, reading):
        wanted = piece.slice(min(skip - skipped, len(piece)))
        skipped += len(piece) - len(wanted)
        groups = wanted.str.extract_groups(pattern).struct.unnest()
        good = groups.to_series(0).is_not_null()
        if not good.all():
            example = wanted.filter(~good)[0][:60]
            reading.notes.add("mindspore_rows_dropped", file=path.name, place=example, count=int((~good).sum()))
        parts.append(groups.filter(good))
    return pl.concat(parts) if parts else pl.DataFrame()


def _lines(piece: bytes) -> pl.Series:
    text = piece.decode("utf-8", "replace").replace("\0", "")
    text_lines = pl.Series("line", [text]).str.split("\n").explode().str.strip_chars_end("\r")
    return text_lines.filter(text_lines.str.strip_chars() != "")


def _rows(text: str, delimiter: str, path: Path, notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their last line. A quote that nobody closes harms its own line only."""
    before = csv.field_size_limit(_LONGEST_LINE)
    stray = text.count('"') % 2 == 1
    number = 0
    try:
        for line in text.splitlines(keepends=True) if stray else [text]:
            quoting: Any = csv.QUOTE_NONE if stray and line.count('"') % 2 else csv.QUOTE_MINIMAL
            reader = csv.reader(
                io.StringIO(line, newline=""), delimiter=delimiter, skipinitialspace=True, quoting=quoting
            )
            try:
                for cells in reader:
                    yield number + reader.line_num, [cell.strip(' \t\r\n"') for cell in cells]
            except csv.Error:
                notes.add("mindspore_rows_dropped", file=path.name, place=f"line {number + reader.line_num}")
            number += reader.line_num
    finally:
        csv.field_size_limit(before)


def _table(numbered: list[tuple[int, list[str]]], path: Path, notes: Notes) -> Table | None:
    header: list[str] = []
    rows: list[list[str]] = []
    last = 0
    for number, row in numbered:
        lines_of_row, last = number - last, number
        if not any(row):
            continue
        if not header:
            header = row
        elif len(row) == len(header):
            rows.append(row)
        else:
            notes.add("mindspore_rows_dropped", file=path.name, place=f"line {number}", count=lines_of_row)
    return Table(header, rows) if header else None
