"""The replay of steps: ``replay.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Errors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[errors]``."""

    most_share: float
    most_times_idle: float
    most_kernel_error: float


class Loader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[loader]``."""

    least_wait_us: int
    beside: tuple[str, ...]


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[size]``."""

    most_moments: int


class FirstStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[first_step]``."""

    most_share_of_median: float
    least_share_of_median: float
    least_other_steps: int


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[layout]``."""

    patterns: tuple[str, ...]


class Queue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[queue]``."""

    full_from_share: float
    still_full_from_share: float
    bounded_launches_share: float
    least_bounded_length: int


class ReplayFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    errors: Errors
    loader: Loader
    size: Size
    first_step: FirstStep
    removed: dict[str, dict[str, tuple[str, ...]]]
    layout: Layout
    queue: Queue


def replay_facts() -> ReplayFacts:
    """The replay of steps."""
    return load("replay", ReplayFacts)
