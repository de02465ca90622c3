"""Answers for people at a terminal: tables, plain CSV, and the notes that belong to them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from stepscope.report.console import Console
from stepscope.store.note_groups import grouped
from stepscope.store.notes import Note
from stepscope.texts import text
from stepscope.texts.numbers import ranges


def show_ingest(run: dict[str, Any], data: dict[str, Any], lang: str) -> None:
    """What an ingest read."""
    console = Console(highlight=False)
    key = "ingest_done" if data["read_bytes"] else "ingest_known"
    console.print(
        text(
            f"report.{key}",
            lang,
            window=run["window"],
            ranks=len(run["ranks"]),
            events=f"{data['events']:,}",
            size=file_size(data["bytes"]),
            seconds=f"{data['seconds']:.2f}",
            rate=f"{data['mb_per_s'] or 0:,.0f}",
        ),
        markup=False,
        soft_wrap=True,
    )
    table = Table("table", box=None, pad_edge=False)
    table.add_column("rows", justify="right")
    for name, rows in data["tables"].items():
        table.add_row(name, f"{rows:,}")
    console.print(table)
    console.print(text("report.store_at", lang, store=data["store"]), markup=False, soft_wrap=True)
    if len(run["windows"]) > 1:
        console.print(text("report.windows", lang, windows=", ".join(run["windows"])), markup=False, soft_wrap=True)


def show_frame(frame: pl.DataFrame) -> None:
    """A frame as a table; numbers to the right."""
    table = Table(box=None, pad_edge=False)
    for name, kind in frame.schema.items():
        table.add_column(Text(name), justify="right" if kind.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    Console(highlight=False).print(table)


def show_notes(notes: Iterable[Note], lang: str) -> None:
    """One line per kind, on standard error, so that output can be piped; none for what asks nothing of a user."""
    for group in grouped(notes):
        if group.level != "info":
            _show_note(group.ranks, group.sentence(lang), lang)


def show_every_note(notes: Iterable[Note], lang: str) -> None:
    """One line per note, whatever its kind."""
    for note in notes:
        _show_note([] if note.rank is None else [note.rank], note.sentence(lang), lang)


def show_known_notes(notes: Iterable[Note], paths: Iterable[Path], lang: str) -> None:
    """How many kinds of notes a capture has that were shown when it was read, and how to see them again."""
    kinds = sum(group.level != "info" for group in grouped(notes))
    if kinds:
        again = " ".join(shlex.quote(str(path)) for path in paths)
        _show_note([], text("report.notes_known", lang, count=kinds, path=again), lang)


def _show_note(ranks: list[int], sentence: str, lang: str) -> None:
    key = "report.note" if not ranks else "report.note_on_rank" if len(ranks) == 1 else "report.note_on_ranks"
    line = text(key, lang, ranks=ranges(ranks), sentence=sentence)
    Console(stderr=True, highlight=False).print(line, markup=False, soft_wrap=True)


def show_written(path: Path, lang: str) -> None:
    """A file or directory that was written."""
    line = text("report.exported", lang, path=path, size=file_size(bytes_of(path)))
    Console(highlight=False).print(line, markup=False, soft_wrap=True)


def file_size(size: int) -> str:
    """The size of files as a file manager tells it.

    >>> file_size(512), file_size(27_400), file_size(5_689_000), file_size(1_234_500_000)
    ('512 B', '27.4 kB', '5.7 MB', '1,234.5 MB')
    """
    for unit, name in ((1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} B"


def bytes_of(path: Path) -> int:
    """The size of a file, or of all files in a directory."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def say(key: str, lang: str, **params: Any) -> None:
    """A sentence of the catalogue's ``report`` section."""
    Console(highlight=False).print(text(f"report.{key}", lang, **params), markup=False, soft_wrap=True)
