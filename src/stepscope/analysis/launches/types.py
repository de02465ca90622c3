"""The answer of ``launches``: lists of entries, each of one rank, most of one step."""

from __future__ import annotations

import msgspec

from stepscope.analysis.foundation.idle import IdleByCause
from stepscope.analysis.foundation.units import Count, Identifier, MeanCount, Microseconds, Nanoseconds, Ratio, Share


class StepLaunches(msgspec.Struct, frozen=True):
    """Launches of one step. Latency is counted once per call, for the first slice that it launched."""

    rank: Identifier
    step: Identifier
    launches: Count
    kernels: Count
    latency_median_us: Microseconds | None
    latency_p95_us: Microseconds | None
    latency_max_us: Microseconds | None
    latency_slope: Ratio | None
    host_bound_share: Share | None
    bound: str | None
    queue_mean: MeanCount | None
    queue_max: Count | None
    warm_up: bool


class Idle(IdleByCause, frozen=True):
    """Idle time of the device in one step, as ``steps`` has it; the causes add up to ``idle_us``.

    ``kernel_us`` and ``other_us`` are former names of ``dependency_us`` and ``unknown_us``.
    """

    rank: Identifier
    step: Identifier
    span_us: Microseconds
    idle_us: Microseconds
    free_us: Microseconds
    lead_us: Microseconds
    other_step_us: Microseconds
    kernel_us: Microseconds
    other_us: Microseconds
    after_sync_us: Microseconds
    gaps: Count


class Activity(msgspec.Struct, frozen=True):
    """What the host did while the device waited for it, or may have where the launch is not known."""

    rank: Identifier
    step: Identifier
    activity: str
    idle_us: Microseconds
    share: Share


class Queue(msgspec.Struct, frozen=True):
    """How many launched slices waited for a stream, weighted by time from its first launch to its last start."""

    rank: Identifier
    track: Identifier
    stream: str
    launches: Count
    changes: Count
    length_mean: MeanCount
    length_max: Count
    empty_share: Share
    full_us: Microseconds
    full_share: Share
    outstanding_mean: MeanCount
    outstanding_max: Count


class Gap(msgspec.Struct, frozen=True):
    """A stretch without device work, and what the host did meanwhile."""

    rank: Identifier
    step: Identifier
    start_ns: Nanoseconds
    duration_us: Microseconds
    lead: bool
    cause: str
    cause_us: Microseconds
    activity: str
    activity_us: Microseconds
    host_slice: Identifier | None
    host_name: str | None
    sync_slice: Identifier | None
    sync_name: str | None
    previous_slice: Identifier | None
    previous_name: str | None
    next_slice: Identifier | None
    next_name: str | None


class Statistics(msgspec.Struct, frozen=True):
    """Launch statistics of one step."""

    rank: Identifier
    step: Identifier
    launches: Count
    short_kernels: Count
    long_calls: Count
    delayed: Count
    call_us: Microseconds
    kernel_us: Microseconds


class Sync(msgspec.Struct, frozen=True):
    """Calls in which the host waited for the device, by name."""

    rank: Identifier
    step: Identifier | None
    name: str
    count: Count
    total_us: Microseconds
    max_us: Microseconds
    idle_us: Microseconds


class Pause(msgspec.Struct, frozen=True):
    """A pause of Python's garbage collector."""

    rank: Identifier
    step: Identifier | None
    slice: Identifier
    start_ns: Nanoseconds
    duration_us: Microseconds
    idle_us: Microseconds


class GetNext(msgspec.Struct, frozen=True):
    """Fetching of the next batch on the device, and how much of it ran beside compute."""

    rank: Identifier
    step: Identifier | None
    count: Count
    total_us: Microseconds
    overlapped_us: Microseconds
    overlapped_share: Share
    flagged: bool


class RankLaunches(msgspec.Struct, frozen=True):
    """The counted steps of a rank together: sums of idle time, medians of what each step says of its launches."""

    rank: Identifier
    idle_us: Microseconds
    idle_share: Share
    cause: str
    latency_median_us: Microseconds | None
    host_bound_share: Share | None
    bound: str | None


class RankActivity(msgspec.Struct, frozen=True):
    """An activity in the counted steps of a rank."""

    rank: Identifier
    activity: str
    idle_us: Microseconds


class Launches(msgspec.Struct, frozen=True):
    """Host and launches of a run. ``least_gap_us``: gaps from this length on are worth a look."""

    steps: list[StepLaunches]
    idle: list[Idle]
    activities: list[Activity]
    queue: list[Queue]
    gaps: list[Gap]
    statistics: list[Statistics]
    syncs: list[Sync]
    gc_pauses: list[Pause]
    get_next: list[GetNext]
    ranks: list[RankLaunches]
    rank_activities: list[RankActivity]
    least_gap_us: Microseconds
