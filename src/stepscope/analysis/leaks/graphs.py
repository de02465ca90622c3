"""Leaking sites that belong together: one kept output holds everything that its autograd graph needs."""

from __future__ import annotations

from typing import Final

import msgspec

from stepscope.analysis.leaks.structures import Graph, Site
from stepscope.analysis.memory.sites import own_frames

_MODULE: Final = "nn.Module: "


def with_graphs(sites: list[Site], first: int) -> tuple[list[Site], list[Graph]]:
    """Sites with the number of their graph, and the graphs, numbered from ``first``.

    They were called from one place of the program, and blocks of the same steps are alive.
    """
    groups: dict[tuple[tuple[str, ...], tuple[int, ...]], list[int]] = {}
    for position, site in enumerate(sites):
        if site.verdict == "leak" and site.stack and site.births:
            rhythm = tuple(birth.step for birth in site.births)
            groups.setdefault((_root(site.stack), rhythm), []).append(position)
    numbered = list(sites)
    graphs: list[Graph] = []
    for (root, _), members in groups.items():
        if not root or len({sites[position].operator for position in members}) < 2:
            continue
        number = first + len(graphs)
        for position in members:
            numbered[position] = msgspec.structs.replace(numbered[position], graph=number)
        graphs.append(
            Graph(
                graph=number,
                rank=sites[members[0]].rank,
                sites=len(members),
                where=root[-1],
                bytes_per_step=sum(sites[position].bytes_per_step for position in members),
            )
        )
    return numbered, graphs


def _root(stack: str) -> tuple[str, ...]:
    """The program's own frames around the network: those before its first module, or, without modules, all."""
    return tuple(own_frames(stack.partition(f"\n{_MODULE}")[0]))
