"""Formats that are known but not read: ``recognised.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Recognised(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One format, by its name or its first bytes, and the command that converts it."""

    what: str
    command: str
    name: str | None = None
    head: str | None = None


class RecognisedFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    format: tuple[Recognised, ...]


def recognised_facts() -> RecognisedFacts:
    """Formats that are known but not read."""
    return load("recognised", RecognisedFacts)
