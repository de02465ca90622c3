"""Memory, its owners and leaks: ``memory.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Spaces(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[spaces]``."""

    order: tuple[str, ...]


class Curves(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[curves]``."""

    most_points: int
    least_points: int
    points_in_all: int


class Owners(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[owners]``."""

    savings_for: int
    settled_ns: int


class Categories(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[categories]``."""

    workspace_sizes: tuple[int, ...]
    stated: dict[str, tuple[str, ...]]
    inferred: dict[str, tuple[str, ...]]


class Leaks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[leaks]``."""

    never_judged: tuple[str, ...]
    only_suspected: tuple[str, ...]
    recorder_bytes_per_event: int
    recorder_block_bytes_per_event: int
    warm_up_steps: int
    least_intervals: int
    likely_intervals: int
    confirmed_intervals: int
    advised_steps: int
    least_events: tuple[int, ...]
    improbable_pause: tuple[float, ...]
    improbable_pause_while_allocating: float
    least_late_steps: int
    least_late_events: int
    cache_evidence_distinct: float
    cache_evidence_repeated: float
    depth_quantile: float
    largest_fall: float
    largest_fall_on_line: float
    least_r_squared: float
    slope_points: int
    most_temporary_sites: int
    hidden_free_share: float
    flat_share: float


class MemoryFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    spaces: Spaces
    curves: Curves
    owners: Owners
    sites: dict[str, tuple[str, ...]]
    categories: Categories
    leaks: Leaks


def memory_facts() -> MemoryFacts:
    """Memory, its owners and leaks."""
    return load("memory", MemoryFacts)
