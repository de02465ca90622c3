"""The decision trees of ``diagnose``: ``decision_trees.toml``, which says where they come from, typed."""

from __future__ import annotations

from typing import Literal

import msgspec

from stepscope.facts import load

Measure = Literal[
    "share", "spread", "stage_spread", "spread_in_stage", "part_share", "part_spread", "idle_share", "waiting_share"
]


class TreeQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of which number, and which kinds a yes leads to."""

    measure: Measure
    of: str
    limit: str
    kinds: tuple[str, ...]
    under: str | None = None


class DecisionTreesFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    limits: dict[str, float]
    trees: dict[str, dict[str, TreeQuestion]]


def decision_trees_facts() -> DecisionTreesFacts:
    """Which questions ``diagnose`` asks."""
    return load("decision_trees", DecisionTreesFacts)
