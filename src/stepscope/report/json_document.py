"""The document that every command prints with ``--json``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from stepscope.store.note_groups import grouped, level_of
from stepscope.store.notes import Note
from stepscope.texts.numbers import ranges


def write(command: str, run: dict[str, Any], notes: list[Note], data: Any, lang: str = "en", **beside: Any) -> None:
    """Print the document, with what stands beside its data."""
    sys.stdout.buffer.write(encoded(document(command, run, notes, data, lang) | beside))
    sys.stdout.buffer.flush()


def write_plain(command: str, data: Any) -> None:
    """Print the document of a command that asks no run."""
    sys.stdout.buffer.write(encoded({"schema": f"stepscope.{command}/1", "data": data}))
    sys.stdout.buffer.flush()


def document(command: str, run: dict[str, Any], notes: list[Note], data: Any, lang: str = "en") -> dict[str, Any]:
    """``{"schema": "stepscope.<command>/1", "run": …, "notes": …, "note_groups": …, "data": …}``."""
    return {
        "schema": f"stepscope.{command}/1",
        "run": run,
        "notes": [note_entry(note, lang) for note in notes],
        "note_groups": note_groups(notes, lang),
        "data": data,
    }


def encoded(value: dict[str, Any]) -> bytes:
    """The document as the text that is printed. JSON has no NaN and no infinity; they become null."""
    return msgspec.json.format(_ENCODER.encode(value), indent=2) + b"\n"


def encoded_densely(value: dict[str, Any]) -> bytes:
    """The same document for a program: a third of the bytes of a long one are there for human eyes."""
    return _ENCODER.encode(value)


def note_entry(note: Note, lang: str) -> dict[str, Any]:
    """A note with its sentence."""
    return {
        "code": note.code,
        "level": level_of(note.code),
        "message": note.sentence(lang),
        "rank": note.rank,
        "file": note.file,
        "place": note.place,
        "count": note.count,
        "params": note.params,
    }


def note_groups(notes: Iterable[Note], lang: str) -> list[dict[str, Any]]:
    """The same notes, one entry per code."""
    return [
        {
            "code": group.code,
            "level": group.level,
            "message": group.sentence(lang),
            "ranks": group.ranks,
            "rank_ranges": ranges(group.ranks),
            "files": group.files,
            "count": group.count,
        }
        for group in grouped(notes)
    ]


def _other(value: Any) -> Any:
    return str(value)


_ENCODER = msgspec.json.Encoder(enc_hook=_other, decimal_format="number")
