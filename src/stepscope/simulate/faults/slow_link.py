"""``slow_link``: one link is slower than others like it, or all links of one network card."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stepscope.simulate.faults.planted import Culprit, Planted

if TYPE_CHECKING:
    from stepscope.simulate.execution import Machine


class SlowLink(Planted):
    """``amount``: how much longer bytes take on it."""

    kind: ClassVar[str] = "slow_link"
    causes: ClassVar[tuple[str, ...]] = ("link", "card")

    def links(self, machine: Machine) -> list[tuple[int, int]]:
        """Those given, else one that reductions of gradients use, between hosts where there is such."""
        if self.entry.links:
            return [(min(link), max(link)) for link in self.entry.links]
        layout = machine.layout
        for group in layout.groups["dp"] or layout.groups["pp"] or layout.groups["tp"]:
            for rank, peer in zip(group.ranks, group.ranks[1:], strict=False):
                if layout.hosts == 1 or layout.host_of(rank) != layout.host_of(peer):
                    return [(rank, peer)]
        return []

    def apply(self, machine: Machine) -> None:
        if self.cause == "card":
            for rank in self.entry.ranks or (self.links(machine)[0][0],):
                machine.links.card_factor[rank] = 1 / (1 + self.amount)
            return
        for link in self.links(machine):
            machine.links.rate_factor[link] = 1 / (1 + self.amount)

    def culprit(self, machine: Machine) -> Culprit:
        if self.cause == "card":
            return Culprit(ranks=list(self.entry.ranks) or [self.links(machine)[0][0]])
        links = self.links(machine)
        return Culprit(ranks=sorted({rank for link in links for rank in link}), links=links)
