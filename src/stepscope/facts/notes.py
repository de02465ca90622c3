"""Which notes are for whom: ``notes.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class NotesFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    info: tuple[str, ...]


def notes_facts() -> NotesFacts:
    """Which notes users see."""
    return load("notes", NotesFacts)
