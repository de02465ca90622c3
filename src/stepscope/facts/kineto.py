"""Words of PyTorch traces: ``kineto.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class KinetoFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    kinds: dict[str, str]
    device_events: dict[str, dict[str, str]]
    device_types: dict[str, str]


def kineto_facts() -> KinetoFacts:
    """Words of PyTorch traces."""
    return load("kineto", KinetoFacts)
