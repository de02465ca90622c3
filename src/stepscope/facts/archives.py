"""Bounds on archives: ``archives.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class ArchivesFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    most_expansion: int
    always_allowed_mb: int
    most_files: int


def archives_facts() -> ArchivesFacts:
    """Bounds on archives."""
    return load("archives", ArchivesFacts)
