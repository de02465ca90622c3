"""The answer to ``memory``, part by part. Null is what the capture cannot tell."""

from __future__ import annotations

import msgspec


class Owner(msgspec.Struct, frozen=True):
    """Blocks of one site and category that live at the moment asked for; or a part of the sum that no block tells."""

    owner: str
    kind: str
    bytes: int
    share: float
    blocks: int | None
    category: str
    confidence: str
    operator: str | None
    first_step: int | None
    last_step: int | None
    saving_bytes: int | None
    stack: str | None


class CategoryPart(msgspec.Struct, frozen=True):
    """A category's part of the sum."""

    category: str
    confidence: str
    bytes: int
    share: float
    blocks: int | None


class Fragmentation(msgspec.Struct, frozen=True):
    """What is held and not used: at the peak from the lines, at the end from the segments."""

    peak_reserved_bytes: int
    peak_idle_bytes: int
    peak_idle_share: float
    growths: int
    growths_with_room: int
    end_reserved_bytes: int | None
    end_active_bytes: int | None
    end_requested_bytes: int | None
    idle_share: float | None
    rounding_share: float | None
    external_share: float | None
    spread_share: float | None
    largest_free_bytes: int | None
    free_bytes: int | None
    free_runs: int | None
    releasable_bytes: int | None


class Lifetime(msgspec.Struct, frozen=True):
    """Blocks whose lives are of one class."""

    lifetime: str
    blocks: int
    bytes: int
    byte_seconds: float | None


class LifetimeBin(msgspec.Struct, frozen=True):
    """Freed blocks that lived at least so long, and less than twice that."""

    least_ns: int
    blocks: int
    bytes: int


class OutOfMemory(msgspec.Struct, frozen=True):
    """A request that failed, and why."""

    rank: int
    device: str
    time_ns: int
    step: int | None
    cause: str
    requested_bytes: int | None
    device_free_bytes: int | None
    reserved_bytes: int | None
    pool_free_bytes: int | None
    largest_free_bytes: int | None
    capacity_bytes: int | None
    others_bytes: int | None
    stack: str | None


class StepBalance(msgspec.Struct, frozen=True):
    """What a step took and gave back."""

    step: int
    allocations: int
    allocated_bytes: int
    freed_bytes: int
    net_bytes: int
    peak_bytes: int
    min_bytes: int
    min_max_share: float | None
    survivors: int
    survivor_bytes: int


class SiteDifference(msgspec.Struct, frozen=True):
    """A site whose allocations differ between two steps."""

    site: str
    operator: str | None
    verdict: str
    base_blocks: int
    blocks: int
    base_bytes: int
    bytes: int
    delta_bytes: int
    base_net_bytes: int
    net_bytes: int
    stack: str | None


class StepDifference(msgspec.Struct, frozen=True):
    """Two steps side by side."""

    base_step: int
    step: int
    base_bytes: int
    bytes: int
    base_net_bytes: int
    net_bytes: int
    base_peak_bytes: int
    peak_bytes: int
    delta_bytes: int
    net_delta_bytes: int
    same_sites: int
    sites: list[SiteDifference]


class Peak(msgspec.Struct, frozen=True):
    """The peak of one space."""

    rank: int
    device: str
    component: str
    measure: str
    peak_bytes: int
    peak_ns: int | None
    peak_step: int | None
    first_bytes: int
    last_bytes: int
    reserved_peak_bytes: int | None
    capacity_bytes: int | None
    headroom_bytes: int | None


class Curve(msgspec.Struct, frozen=True):
    """The lines of one space; each value holds until the next moment."""

    rank: int
    device: str
    component: str
    points: int
    time_ns: list[int]
    allocated_bytes: list[int] | None
    active_bytes: list[int] | None
    reserved_bytes: list[int] | None


class CategoryCurve(msgspec.Struct, frozen=True):
    """Recorded bytes of one category over time."""

    category: str
    time_ns: list[int]
    bytes: list[int]


class Memory(msgspec.Struct, frozen=True):
    """Where memory goes. All but ``peaks``, ``curves`` and ``out_of_memory`` is about one space, the fullest."""

    rank: int
    device: str
    component: str
    measure: str
    peak_bytes: int
    peak_ns: int | None
    peak_step: int | None
    at_ns: int | None
    at_bytes: int
    owners: list[Owner]
    categories: list[CategoryPart]
    fragmentation: Fragmentation | None
    lifetimes: list[Lifetime]
    lifetime_bins: list[LifetimeBin]
    steps: list[StepBalance]
    step_difference: StepDifference | None
    out_of_memory: list[OutOfMemory]
    peaks: list[Peak]
    curves: list[Curve]
    category_curves: list[CategoryCurve]
