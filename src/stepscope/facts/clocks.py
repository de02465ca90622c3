"""How the clocks of hosts are brought together: ``clocks.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class ClocksFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    kinds: tuple[str, ...]
    small_bytes: int
    small_us: int
    medium_us: int
    floor_small_us: int
    floor_medium_us: int
    floor_large_us: int
    enough_small: int
    most_calls: int
    least_calls: int
    drift_window_s: float
    drift_us: int
    drift_errors: float
    most_drift_ppm: int
    most_error_us: int
    most_contradictions: float
    own_clock_errors: float
    applied_errors: float
    most_unnamed_apart: float


def clocks_facts() -> ClocksFacts:
    """How the clocks of hosts are brought together."""
    return load("clocks", ClocksFacts)
