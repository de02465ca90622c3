"""Processes of Chrome traces: ``chrome.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Process(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a process is whose name matches the pattern from its beginning."""

    role: str
    framework: str
    pattern: str


class Xla(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Threads and operations of a device that XLA compiles for."""

    sums_up: tuple[str, ...]
    sums_up_streams: tuple[str, ...]
    streams: str
    beside: tuple[str, ...]
    communicates: str
    copies: str


class ChromeFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    process: tuple[Process, ...]
    xla: Xla


def chrome_facts() -> ChromeFacts:
    """Processes of Chrome traces."""
    return load("chrome", ChromeFacts)
