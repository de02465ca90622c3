"""Processes of Chrome traces: ``chrome.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Process(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a process is whose name matches the pattern from its beginning."""

    role: str
    framework: str
    pattern: str


class ChromeFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    process: tuple[Process, ...]


def chrome_facts() -> ChromeFacts:
    """Processes of Chrome traces."""
    return load("chrome", ChromeFacts)
