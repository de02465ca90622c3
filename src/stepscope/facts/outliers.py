"""Which ranks stand apart from their peers: ``outliers.toml``, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Outliers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Both limits must be passed."""

    score: float
    least_share: float


def outliers_facts() -> Outliers:
    """Outliers among ranks."""
    return load("outliers", Outliers)
