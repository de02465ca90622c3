"""Places of the program that leak: a site, or all sites of one kept autograd graph, which are one leak."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from stepscope.analysis.leaks.structures import Leaks, Site


@dataclass(frozen=True)
class LeakingPlace:
    """Leaking sites of one rank that belong together."""

    sites: list[Site]
    graph_of: str | None  # the line whose result is kept with its autograd graph

    @property
    def largest(self) -> Site:
        """The site that keeps most."""
        return max(self.sites, key=lambda site: site.bytes_per_step)

    @property
    def site(self) -> str:
        """Where it is kept from."""
        return self.largest.site if self.graph_of is None else self.graph_of

    @property
    def operator(self) -> str | None:
        """Which operator allocates it; None where many do."""
        return self.largest.operator if self.graph_of is None else None

    @property
    def bytes_per_step(self) -> float:
        """What all of it keeps."""
        return sum(site.bytes_per_step for site in self.sites)

    @property
    def steps_to_oom(self) -> int | None:
        """Until what is left of the memory is kept by all of it."""
        left = [site.steps_to_oom * site.bytes_per_step for site in self.sites if site.steps_to_oom is not None]
        return int(min(left) // self.bytes_per_step) if left and self.bytes_per_step > 0 else None

    def births(self) -> dict[int, int]:
        """Bytes that are still kept, by the step in which they were allocated."""
        kept: dict[int, int] = defaultdict(int)
        for site in self.sites:
            for birth in site.births:
                kept[birth.step] += birth.bytes
        return dict(sorted(kept.items()))


def leaking_places(leaks: Leaks) -> list[LeakingPlace]:
    """In the order of the sites. Sites of one place and operator, called on different ways, are one as well."""
    lines: dict[int | None, str] = {graph.graph: graph.where for graph in leaks.graphs}
    places: dict[tuple[object, ...], list[Site]] = defaultdict(list)
    for site in leaks.sites:
        if site.verdict == "leak":
            alone = (site.rank, site.device, site.site, site.operator)
            places[(site.graph,) if site.graph in lines else alone].append(site)
    return [LeakingPlace(sites, lines.get(sites[0].graph)) for sites in places.values()]
