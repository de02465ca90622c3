"""Launches, queues and idle time: ``launches.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Statistics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[statistics]``."""

    longest_usual_call_us: int
    longest_usual_delay_us: int


class Idle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[idle]``."""

    between_kernels_us: int


class Syncs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[syncs]``."""

    least_wait_us: int


class Gaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[gaps]``."""

    least_us: int


class Queue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[queue]``."""

    full_length: int


class Trend(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[trend]``."""

    host_bound_from_share: float
    device_bound_to_share: float
    device_bound_below_waiting_share: float
    least_launches: int


class GetNext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[get_next]``."""

    patterns: tuple[str, ...]
    least_overlapped_share: float


class LaunchesFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    statistics: Statistics
    idle: Idle
    syncs: Syncs
    gaps: Gaps
    queue: Queue
    trend: Trend
    get_next: GetNext


def launches_facts() -> LaunchesFacts:
    """Launches, queues and idle time."""
    return load("launches", LaunchesFacts)
