"""What a host was doing: ``host_activity.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Dominant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When one category stands for a whole."""

    least_share: float


class Category(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Slices of these kinds, or, ``among`` the stated kinds, of names that fit."""

    name: str
    kinds: tuple[str, ...]
    patterns: tuple[str, ...]
    among: tuple[str, ...] = ()


class HostActivityFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    dominant: Dominant
    category: tuple[Category, ...]


def host_activity_facts() -> HostActivityFacts:
    """What a host was doing."""
    return load("host_activity", HostActivityFacts)
