"""Documented files that were not written, as ``stepscope.json`` lists them: one note with all of them."""

from __future__ import annotations

from typing import Any

from stepscope.layout import names
from stepscope.readers.stepscope_capture.description import Description
from stepscope.store.notes import Notes
from stepscope.texts import LANGUAGES, entries, text

_SEPARATORS = {"en": "; ", "zh": "；"}


def note_missing_files(said: Description, notes: Notes) -> None:
    """Add the note; files with one reason stand together."""
    listed = said.content.get(names.NOT_WRITTEN)
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and one.get("reason") in entries("missing_file"):
            reasons.setdefault((one["reason"], _short(one.get("needs"))), []).append(_short(one.get("file")))
    if reasons:
        in_language = {lang: _listed(reasons, lang) for lang in LANGUAGES}
        notes.add("files_not_written", files=in_language["en"], files_zh=in_language["zh"])


def _listed(reasons: dict[tuple[str, str], list[str]], lang: str) -> str:
    brackets = "（{}）" if lang == "zh" else " ({})"
    parts = [
        ", ".join(files) + brackets.format(text(f"missing_file.{reason}", lang, needs=needs))
        for (reason, needs), files in reasons.items()
    ]
    return _SEPARATORS[lang].join(parts)


def _short(value: Any) -> str:
    return str(value or "")[:80]
