"""``slow_link``: one link is slower than others like it, or all links of one network card."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Culprit, Part, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class SlowLink(Planted):
    """``amount``: how much longer bytes take on it."""

    kind: ClassVar[str] = "slow_link"
    causes: ClassVar[tuple[str, ...]] = ("link", "card")

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "hosts" if cause == "card" else "ranks"  # within a host no network card is used

    @classmethod
    def heeds(cls, cause: str) -> frozenset[str]:
        return frozenset({"ranks"} if cause == "card" else {"links"})

    def links(self, machine: Machine) -> list[tuple[int, int]]:
        """Those given, else one between hosts where there is such: of reductions of gradients, or of a pipeline."""
        if self.entry.links:
            return [(min(link), max(link)) for link in self.entry.links]
        layout = machine.layout
        used = [
            link
            for dimension in ("dp", "pp", "tp")
            for group in layout.groups[dimension]
            for link in zip(group.ranks, group.ranks[1:], strict=False)
        ]
        across = [(rank, peer) for rank, peer in used if layout.host_of(rank) != layout.host_of(peer)]
        return (across or used)[:1]

    def apply(self, machine: Machine) -> None:
        if self.cause == "card":
            for rank in self.entry.ranks or (self.links(machine)[0][0],):
                machine.links.card_factor[rank] = machine.links.card_factor.get(rank, 1.0) / (1 + self.amount)
            return
        for link in self.links(machine):
            machine.links.rate_factor[link] = machine.links.rate_factor.get(link, 1.0) / (1 + self.amount)

    def culprit(self, machine: Machine) -> Culprit:
        if self.cause == "card":
            return Culprit(ranks=list(self.entry.ranks) or [self.links(machine)[0][0]])
        links = self.links(machine)
        return Culprit(ranks=sorted({rank for link in links for rank in link}), links=links)
