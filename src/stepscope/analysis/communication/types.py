"""The answer of ``communication``: what was called, who waited for whom, what moved between which ranks."""

from __future__ import annotations

import msgspec

from stepscope.analysis.cluster.clocks import HostClock
from stepscope.analysis.foundation.units import Bytes, Count, GigabytesPerSecond, Identifier, Microseconds, Nanoseconds


class Operation(msgspec.Struct, frozen=True):
    """Calls of one name in one group, of all ranks and steps asked for; ``recorded_`` is what files say themselves."""

    group: str | None
    kind: str | None
    name: str
    members: Count | None
    ranks: Count
    count: Count
    total_us: Microseconds | None
    mean_us: Microseconds | None
    min_us: Microseconds | None
    p50_us: Microseconds | None
    p95_us: Microseconds | None
    max_us: Microseconds | None
    skew_us: Microseconds | None
    max_skew_us: Microseconds | None
    transit_us: Microseconds | None
    wait_us: Microseconds | None
    overlapped_us: Microseconds | None
    bytes: Bytes | None
    algorithm_gb_per_s: GigabytesPerSecond | None
    bus_gb_per_s: GigabytesPerSecond | None
    recorded_transit_us: Microseconds | None
    recorded_wait_us: Microseconds | None
    recorded_sync_us: Microseconds | None
    recorded_idle_us: Microseconds | None
    recorded_reduce_us: Microseconds | None


class RankTimes(msgspec.Struct, frozen=True):
    """All calls of one rank; ``wait_us`` and ``transit_us`` add up to ``total_us`` where waiting is known."""

    rank: Identifier
    count: Count
    total_us: Microseconds | None
    transit_us: Microseconds | None
    wait_us: Microseconds | None
    overlapped_us: Microseconds | None
    bytes: Bytes | None


class DurationBin(msgspec.Struct, frozen=True):
    """How many calls of an operation took at least ``from_us`` and less than ``to_us``."""

    group: str | None
    kind: str | None
    name: str
    from_us: Microseconds
    to_us: Microseconds
    count: Count


class Wait(msgspec.Struct, frozen=True):
    """What one rank waited for another, as far as it goes back to one rank."""

    rank: Identifier
    blames: Identifier
    root: Identifier
    wait_us: Microseconds
    calls: Count


class Link(msgspec.Struct, frozen=True):
    """What one rank moved to or from another over one transport."""

    rank: Identifier
    peer: Identifier
    transport: str | None
    bytes: Bytes
    time_us: Microseconds
    gb_per_s: GigabytesPerSecond | None
    packets: Count | None


class Transport(msgspec.Struct, frozen=True):
    """All that moved over one kind of link."""

    transport: str | None
    links: Count
    bytes: Bytes
    time_us: Microseconds
    gb_per_s: GigabytesPerSecond | None
    packets: Count | None
    slowest_gb_per_s: GigabytesPerSecond | None
    slowest_rank: Identifier | None
    slowest_peer: Identifier | None


class PacketSize(msgspec.Struct, frozen=True):
    """What moved over one transport in packets of at least ``from_bytes`` and less than ``to_bytes``."""

    transport: str | None
    from_bytes: Bytes
    to_bytes: Bytes
    packets: Count
    bytes: Bytes
    time_us: Microseconds
    gb_per_s: GigabytesPerSecond | None


class Group(msgspec.Struct, frozen=True):
    """A communication group. Where its members are not stated, they are those that were seen in calls."""

    group: str
    name: str | None
    dimension: str | None
    ranks: list[Identifier]
    captured: list[Identifier]
    members_known: bool
    origin: str | None
    confidence: str | None


class Unjoined(msgspec.Struct, frozen=True):
    """A call that some captured members never joined, although they recorded that step, or all calls to the end."""

    group: str | None
    kind: str | None
    step: Identifier | None
    seq: Identifier | None
    joined: list[Identifier]
    missing: list[Identifier]
    start_ns: Nanoseconds


class Communication(msgspec.Struct, frozen=True):
    """The communication of a run."""

    operations: list[Operation]
    by_rank: list[RankTimes]
    durations: list[DurationBin]
    waits: list[Wait]
    matrix: list[Link]
    links: list[Transport]
    packets: list[PacketSize]
    groups: list[Group]
    unjoined: list[Unjoined]
    clocks: list[HostClock]
