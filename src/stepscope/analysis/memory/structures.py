"""The answer to ``memory``, part by part. Null is what the capture cannot tell."""

from __future__ import annotations

import msgspec

from stepscope.analysis.foundation.units import Bytes, ByteSeconds, Count, Identifier, Nanoseconds, Share


class Owner(msgspec.Struct, frozen=True):
    """Blocks of one site and category that live at the moment asked for; or a part of the sum that no block tells."""

    owner: str
    kind: str
    bytes: Bytes
    share: Share
    blocks: Count | None
    category: str
    confidence: str
    operator: str | None
    first_step: Identifier | None
    last_step: Identifier | None
    saving_bytes: Bytes | None
    stack: str | None


class CategoryPart(msgspec.Struct, frozen=True):
    """A category's part of the sum."""

    category: str
    confidence: str
    bytes: Bytes
    share: Share
    blocks: Count | None


class Fragmentation(msgspec.Struct, frozen=True):
    """What is held and not used: at the peak from the lines, at the end from the segments."""

    peak_reserved_bytes: Bytes
    peak_idle_bytes: Bytes
    peak_idle_share: Share
    growths: Count
    growths_with_room: Count
    end_reserved_bytes: Bytes | None
    end_active_bytes: Bytes | None
    end_requested_bytes: Bytes | None
    idle_share: Share | None
    rounding_share: Share | None
    external_share: Share | None
    spread_share: Share | None
    largest_free_bytes: Bytes | None
    free_bytes: Bytes | None
    free_runs: Count | None
    releasable_bytes: Bytes | None


class Lifetime(msgspec.Struct, frozen=True):
    """Blocks whose lives are of one class."""

    lifetime: str
    blocks: Count
    bytes: Bytes
    byte_seconds: ByteSeconds | None


class LifetimeBin(msgspec.Struct, frozen=True):
    """Freed blocks that lived at least so long, and less than twice that."""

    least_ns: Nanoseconds
    blocks: Count
    bytes: Bytes


class OutOfMemory(msgspec.Struct, frozen=True):
    """A request that failed, and why."""

    rank: Identifier
    device: str
    time_ns: Nanoseconds
    step: Identifier | None
    cause: str
    requested_bytes: Bytes | None
    device_free_bytes: Bytes | None
    reserved_bytes: Bytes | None
    pool_free_bytes: Bytes | None
    largest_free_bytes: Bytes | None
    capacity_bytes: Bytes | None
    others_bytes: Bytes | None
    stack: str | None


class StepBalance(msgspec.Struct, frozen=True):
    """What a step took and gave back."""

    step: Identifier
    allocations: Count
    allocated_bytes: Bytes
    freed_bytes: Bytes
    net_bytes: Bytes
    peak_bytes: Bytes
    min_bytes: Bytes
    min_max_share: Share | None
    survivors: Count
    survivor_bytes: Bytes


class SiteDifference(msgspec.Struct, frozen=True):
    """A site whose allocations differ between two steps."""

    site: str
    operator: str | None
    verdict: str
    base_blocks: Count
    blocks: Count
    base_bytes: Bytes
    bytes: Bytes
    delta_bytes: Bytes
    base_net_bytes: Bytes
    net_bytes: Bytes
    stack: str | None


class StepDifference(msgspec.Struct, frozen=True):
    """Two steps side by side."""

    base_step: Identifier
    step: Identifier
    base_bytes: Bytes
    bytes: Bytes
    base_net_bytes: Bytes
    net_bytes: Bytes
    base_peak_bytes: Bytes
    peak_bytes: Bytes
    delta_bytes: Bytes
    net_delta_bytes: Bytes
    same_sites: Count
    sites: list[SiteDifference]


class Peak(msgspec.Struct, frozen=True):
    """The peak of one space."""

    rank: Identifier
    device: str
    component: str
    measure: str
    peak_bytes: Bytes
    peak_ns: Nanoseconds | None
    peak_step: Identifier | None
    first_bytes: Bytes
    last_bytes: Bytes
    reserved_peak_bytes: Bytes | None
    capacity_bytes: Bytes | None
    headroom_bytes: Bytes | None


class Curve(msgspec.Struct, frozen=True):
    """The lines of one space; each value holds until the next moment."""

    rank: Identifier
    device: str
    component: str
    points: Count
    time_ns: list[Nanoseconds]
    allocated_bytes: list[Bytes] | None
    active_bytes: list[Bytes] | None
    reserved_bytes: list[Bytes] | None


class CategoryCurve(msgspec.Struct, frozen=True):
    """Recorded bytes of one category over time."""

    category: str
    time_ns: list[Nanoseconds]
    bytes: list[Bytes]


class Memory(msgspec.Struct, frozen=True):
    """Where memory goes. All but ``peaks``, ``curves`` and ``out_of_memory`` is about one space, the fullest."""

    rank: Identifier
    device: str
    component: str
    measure: str
    peak_bytes: Bytes
    peak_ns: Nanoseconds | None
    peak_step: Identifier | None
    at_ns: Nanoseconds | None
    at_bytes: Bytes
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
