"""When two runs count as different: ``comparison.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class ComparisonFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    chance: float
    floor_share: float
    least_share_of_step: float
    least_share_of_operator: float
    other_shapes_share: float
    changed_gain_share: float
    most_explained: int
    least_explained_share: float
    most_rows: int


def comparison_facts() -> ComparisonFacts:
    """When two runs count as different."""
    return load("comparison", ComparisonFacts)
