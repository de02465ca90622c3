"""The answer of ``communication``: what was called, who waited for whom, what moved between which ranks."""

from __future__ import annotations

import msgspec


class Operation(msgspec.Struct, frozen=True):
    """Calls of one name in one group, of all ranks and steps asked for; ``recorded_`` is what files say themselves."""

    group: str | None
    kind: str | None
    name: str
    members: int | None
    ranks: int
    count: int
    total_us: float | None
    mean_us: float | None
    transit_us: float | None
    wait_us: float | None
    overlapped_us: float | None
    bytes: int | None
    algorithm_gb_per_s: float | None
    bus_gb_per_s: float | None
    recorded_transit_us: float | None
    recorded_wait_us: float | None
    recorded_sync_us: float | None
    recorded_idle_us: float | None
    recorded_reduce_us: float | None


class Wait(msgspec.Struct, frozen=True):
    """What one rank waited for another, as far as it goes back to one rank."""

    rank: int
    blames: int
    root: int
    wait_us: float
    calls: int


class Link(msgspec.Struct, frozen=True):
    """What one rank moved to or from another over one transport."""

    rank: int
    peer: int
    transport: str | None
    bytes: int
    time_us: float
    gb_per_s: float | None
    packets: int | None


class Transport(msgspec.Struct, frozen=True):
    """All that moved over one kind of link."""

    transport: str | None
    links: int
    bytes: int
    time_us: float
    gb_per_s: float | None
    packets: int | None
    slowest_gb_per_s: float | None
    slowest_rank: int | None
    slowest_peer: int | None


class Group(msgspec.Struct, frozen=True):
    """A communication group. Where its members are not stated, they are those that were seen in calls."""

    group: str
    name: str | None
    dimension: str | None
    ranks: list[int]
    captured: list[int]
    members_known: bool
    origin: str | None
    confidence: str | None


class Unjoined(msgspec.Struct, frozen=True):
    """A call that some captured members never joined, although they recorded that step."""

    group: str | None
    kind: str | None
    step: int
    seq: int | None
    joined: list[int]
    missing: list[int]
    start_ns: int


class Communication(msgspec.Struct, frozen=True):
    """The communication of a run."""

    operations: list[Operation]
    waits: list[Wait]
    matrix: list[Link]
    links: list[Transport]
    groups: list[Group]
    unjoined: list[Unjoined]
