"""Names and tags that a user gives to runs: in the user's workspace, by capture and window."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from stepscope.store.workspace import shared_workspace
from stepscope.typed import typed

_SECTION: Final = "labels"


class RunLabel(msgspec.Struct, frozen=True):
    """How a user calls a run, and words to find it by."""

    name: str | None = None
    tags: list[str] = []


def run_labels() -> dict[str, RunLabel]:
    """All labels, by :func:`label_key`."""
    return {
        key: typed(entry, RunLabel) for key, entry in shared_workspace().entries(_SECTION).items() if _is_label(entry)
    }


def keep_label(key: str, label: RunLabel) -> None:
    """Remember a label; one that says nothing is forgotten."""
    known = {**shared_workspace().entries(_SECTION), key: label}
    if label == RunLabel():
        del known[key]
    shared_workspace().keep(_SECTION, known)


def label_key(capture: Path, window: str | None) -> str:
    """What a label belongs to: one window of one capture."""
    return f"{capture}\n{window or ''}"


def _is_label(entry: object) -> bool:
    try:
        typed(entry, RunLabel)
    except msgspec.ValidationError:
        return False
    return True
