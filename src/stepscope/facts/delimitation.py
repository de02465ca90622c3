"""When a part of the step is worth a look: ``delimitation.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class DelimitationFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    largest_spread_share: float
    largest_share: dict[str, float]


def delimitation_facts() -> DelimitationFacts:
    """When a part of the step is worth a look."""
    return load("delimitation", DelimitationFacts)
