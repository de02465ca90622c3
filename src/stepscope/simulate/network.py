"""Links between ranks and what collectives over them cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from stepscope.facts.simulation import simulation_facts
from stepscope.simulate.plan import Layout
from stepscope.simulate.scenario import Network


@dataclass(frozen=True)
class Link:
    """How fast a rank sends to a peer."""

    transport: str
    bytes_per_ns: float
    latency_ns: float


@dataclass
class Links:
    """All links of a cluster. ``rate_factor`` and ``card_factor`` are what faults do to a link or a network card."""

    layout: Layout
    network: Network
    rate_factor: dict[tuple[int, int], float] = field(default_factory=dict)
    card_factor: dict[int, float] = field(default_factory=dict)

    def between(self, rank: int, peer: int) -> Link:
        """The link from a rank to another; both directions are alike."""
        inside = self.layout.host_of(rank) == self.layout.host_of(peer)
        name = self.network.inside if inside else self.network.between
        transport = self.network.rates.get(name) or simulation_facts().transports[name]
        rate, latency = transport.gb_per_s, transport.latency_us
        factor = self.rate_factor.get((min(rank, peer), max(rank, peer)), 1.0)
        if not inside:
            factor *= min(self.card_factor.get(rank, 1.0), self.card_factor.get(peer, 1.0))
        return Link(name, rate * factor, latency * 1000)

    def ring(self, ranks: Sequence[int]) -> list[Link]:
        """The links of a ring through the ranks, in their order."""
        if len(ranks) == 2:
            return [self.between(ranks[0], ranks[1])]
        return [self.between(rank, ranks[(position + 1) % len(ranks)]) for position, rank in enumerate(ranks)]


@dataclass(frozen=True)
class Cost:
    """What a collective takes once all have arrived, and how it was done."""

    nanoseconds: float
    algorithm: str


def collective_cost(kind: str, size: int, members: int, links: Sequence[Link]) -> Cost:
    """The time of a collective of ``size`` bytes over the slowest of its links.

    ``size`` is the whole buffer: of an all-gather what comes out, of a reduce-scatter what goes in.

    >>> link = Link("NVLINK", 100.0, 1000.0)
    >>> collective_cost("all_reduce", 8_000_000, 4, [link]).nanoseconds  # 2 x 3/4 x 80 us and 6 hops
    126000.0
    """
    if members < 2:
        return Cost(0.0, "RING")
    rate, latency = min(link.bytes_per_ns for link in links), max(link.latency_ns for link in links)
    share = (members - 1) / members
    if kind in ("send", "receive"):
        return Cost(size / rate + latency, "P2P")
    if kind == "all_to_all":
        return Cost(share * size / rate + latency * (members - 1), "PAIRWISE")
    if kind == "all_reduce" and size <= simulation_facts().collectives.tree_up_to_bytes:
        hops = 2 * math.ceil(math.log2(members))
        return Cost(2 * size / rate + latency * hops, "TREE")
    rounds = 2 if kind == "all_reduce" else 1
    return Cost(rounds * share * size / rate + latency * rounds * (members - 1), "RING")


def sent_bytes(kind: str, size: int, members: int) -> int:
    """What one rank sends in a collective."""
    if kind in ("send", "receive"):
        return size
    rounds = 2 if kind == "all_reduce" else 1
    return rounds * size * (members - 1) // members
