"""Which files were recorded together: ``windows.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class WindowsFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    apart_after_ms: int
    copied_worker: str


def windows_facts() -> WindowsFacts:
    """Which files were recorded together."""
    return load("windows", WindowsFacts)
