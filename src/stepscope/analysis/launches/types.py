"""The answer of ``launches``: lists of entries, each of one rank, most of one step."""

from __future__ import annotations

import msgspec


class StepLaunches(msgspec.Struct, frozen=True):
    """Launches of one step. Latency is counted once per call, for the first slice that it launched."""

    rank: int
    step: int
    launches: int
    kernels: int
    latency_median_us: float | None
    latency_p95_us: float | None
    latency_max_us: float | None
    latency_slope: float | None
    host_bound_share: float | None
    bound: str | None
    queue_mean: float | None
    queue_max: int | None
    warm_up: bool


class Idle(msgspec.Struct, frozen=True):
    """Idle time of the device in one step, as ``steps`` has it; the causes add up to ``idle_us``.

    ``kernel_us`` and ``other_us`` are former names of ``dependency_us`` and ``unknown_us``.
    """

    rank: int
    step: int
    span_us: float
    idle_us: float
    free_us: float
    lead_us: float
    other_step_us: float
    data_us: float
    host_us: float
    sync_us: float
    gc_us: float
    collective_us: float
    dependency_us: float
    profiler_us: float
    unknown_us: float
    kernel_us: float
    other_us: float
    after_sync_us: float
    gaps: int


class Activity(msgspec.Struct, frozen=True):
    """What the host did while the device waited for it, or may have where the launch is not known."""

    rank: int
    step: int
    activity: str
    idle_us: float
    share: float


class Queue(msgspec.Struct, frozen=True):
    """How many launched slices waited for a stream, weighted by time from its first launch to its last start."""

    rank: int
    track: int
    stream: str
    launches: int
    changes: int
    length_mean: float
    length_max: int
    empty_share: float
    full_us: float
    full_share: float
    outstanding_mean: float
    outstanding_max: int


class Gap(msgspec.Struct, frozen=True):
    """A stretch without device work, and what the host did meanwhile."""

    rank: int
    step: int
    start_ns: int
    duration_us: float
    lead: bool
    cause: str
    cause_us: float
    activity: str
    activity_us: float
    host_slice: int | None
    host_name: str | None
    sync_slice: int | None
    sync_name: str | None
    previous_slice: int | None
    previous_name: str | None
    next_slice: int | None
    next_name: str | None


class Statistics(msgspec.Struct, frozen=True):
    """Launch statistics of one step."""

    rank: int
    step: int
    launches: int
    short_kernels: int
    long_calls: int
    delayed: int
    call_us: float
    kernel_us: float


class Sync(msgspec.Struct, frozen=True):
    """Calls in which the host waited for the device, by name."""

    rank: int
    step: int | None
    name: str
    count: int
    total_us: float
    max_us: float
    idle_us: float


class Pause(msgspec.Struct, frozen=True):
    """A pause of Python's garbage collector."""

    rank: int
    step: int | None
    slice: int
    start_ns: int
    duration_us: float
    idle_us: float


class GetNext(msgspec.Struct, frozen=True):
    """Fetching of the next batch on the device, and how much of it ran beside compute."""

    rank: int
    step: int | None
    count: int
    total_us: float
    overlapped_us: float
    overlapped_share: float
    flagged: bool


class RankLaunches(msgspec.Struct, frozen=True):
    """All steps of a rank together: sums of idle time, medians of what each step says of its launches."""

    rank: int
    idle_us: float
    idle_share: float
    cause: str
    latency_median_us: float | None
    host_bound_share: float | None
    bound: str | None


class RankActivity(msgspec.Struct, frozen=True):
    """An activity in all steps of a rank."""

    rank: int
    activity: str
    idle_us: float


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
    least_gap_us: int
