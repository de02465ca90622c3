"""Coordinates of ranks from the sizes of the dimensions, or from which ranks form groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Final, Literal

#: All parallel dimensions; experts are split within data (and context) parallelism.
DIMENSIONS: Final = ("dp", "tp", "pp", "ep", "cp")
#: Those whose sizes multiply to the number of ranks.
_MULTIPLY: Final = ("tp", "cp", "dp", "pp")

Groups = Mapping[str, list[list[int]]]
Origin = Literal["given", "stated", "inferred", "unknown"]
Certainty = Literal["given", "stated", "likely", "guess", "unknown"]
#: Where something is known from, how sure that is, and the reason.
Source = tuple[Origin, Certainty, str]


@dataclass
class Known:
    """Sizes, coordinates and groups as far as they are known; ``sources`` says for each dimension how it is known."""

    sizes: dict[str, int] = field(default_factory=dict)
    coordinates: dict[str, dict[int, int]] = field(default_factory=dict)
    members: dict[str, list[list[int]]] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    ids: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # of groups that calls carry, with their ranks

    def coordinate(self, dimension: str, rank: int) -> int | None:
        """Of one rank."""
        if self.sizes.get(dimension) == 1:
            return 0
        return self.coordinates.get(dimension, {}).get(rank)

    def origin_of(self, dimension: str) -> Source:
        """Origin, confidence and reason."""
        return self.sources[dimension]

    def groups(self, dimension: str) -> list[list[int]]:
        """Of at least two ranks, in the order of their first ranks."""
        return sorted(self.members.get(dimension, []))


def from_sizes(sizes: Mapping[str, int], order: Iterable[str]) -> Known:
    """Ranks count through the dimensions in an order, the fastest first."""
    known = Known(sizes=dict(sizes))
    world = prod(sizes[name] for name in _MULTIPLY)
    stride = 1
    for name in order:
        known.coordinates[name] = {rank: rank // stride % sizes[name] for rank in range(world)}
        stride *= sizes[name]
    dp, cp = known.coordinates["dp"], known.coordinates["cp"]
    # Experts are split over data-parallel ranks; with context parallelism over both.
    inner = sizes["cp"] if sizes["dp"] % sizes["ep"] else 1
    replica = {rank: dp[rank] * inner + (cp[rank] if inner > 1 else 0) for rank in range(world)}
    known.coordinates["ep"] = {rank: replica[rank] % sizes["ep"] for rank in range(world)}
    known.sources = dict.fromkeys(sizes, ("given", "given", "given"))
    for name in _MULTIPLY:
        known.members[name] = _alike(known, name, range(world))
    known.members["ep"] = _expert_groups(known, replica, range(world))
    return known


def from_groups(
    groups: Groups,
    columns: Mapping[str, Mapping[int, int]],
    world: int,
    source: Source,
    reasons: Mapping[str, str] | None = None,
) -> Known:
    """A rank's coordinate is its index in its group; ``columns`` are coordinates that the ranks state themselves.

    Data-parallel groups may hold context-parallel neighbours as well, which share an index. Dimensions without groups
    follow from the ranks that the other dimensions leave.
    """
    known = Known()
    if not groups and not columns:
        return known
    for name in ("tp", "cp", "pp", "ep"):
        known.coordinates[name] = {rank: index for ranks in groups.get(name, ()) for index, rank in enumerate(ranks)}
    known.coordinates["dp"] = _data_parallel(groups)
    for name in DIMENSIONS:
        own, stated = known.coordinates[name], columns.get(name, {})
        for rank, index in stated.items():
            own.setdefault(rank, index)
        known.members[name] = [list(ranks) for ranks in groups.get(name, ())]
        if own:
            known.sizes[name] = 1 + max(own.values())
            known.sources[name] = _reason(source, name, reasons)
    _fill(known, world, source)
    for name in _MULTIPLY:
        if not known.members[name] and len(known.coordinates[name]) == world:
            known.members[name] = _alike(known, name, range(world))
    return known


def _data_parallel(groups: Groups) -> dict[int, int]:
    context_of = {rank: number for number, ranks in enumerate(groups.get("cp", ())) for rank in ranks}
    coordinates: dict[int, int] = {}
    for ranks in groups.get("dp", ()):
        # Context-parallel neighbours that are all in the group see parts of the same sample.
        together = [context_of.get(rank, -1 - rank) for rank in ranks]
        numbers = {key: index for index, key in enumerate(dict.fromkeys(together))}
        coordinates |= {rank: numbers[key] for rank, key in zip(ranks, together, strict=True)}
    return coordinates


def _fill(known: Known, world: int, source: Source) -> None:
    """Dimensions of which nothing was told: the rest of the ranks is data parallel, or tensor parallel beside it."""
    split = prod(known.sizes.get(name, 1) for name in _MULTIPLY)
    missing = [name for name in ("dp", "tp") if name not in known.sizes]
    if missing and split and world % split == 0 and world > split:
        name = missing[0]
        known.sizes[name] = world // split
        # This remainder is inferred, even where the other dimensions are stated.
        known.sources[name] = ("inferred", "guess" if source[1] == "guess" else "likely", "rest")
        others = [each for each in _MULTIPLY if each != name and known.sizes.get(each, 1) > 1]
        if all(len(known.coordinates[each]) == world for each in others):
            alike: dict[tuple[int, ...], list[int]] = {}
            for rank in range(world):
                alike.setdefault(tuple(known.coordinates[each][rank] for each in others), []).append(rank)
            known.coordinates[name] = {rank: index for ranks in alike.values() for index, rank in enumerate(ranks)}
    for name in DIMENSIONS:
        known.sizes.setdefault(name, 1)
        known.sources.setdefault(name, (source[0], source[1], "rest"))


def _reason(source: Source, name: str, reasons: Mapping[str, str] | None) -> Source:
    return source if reasons is None else (source[0], source[1], reasons.get(name, source[2]))


def _alike(known: Known, dimension: str, ranks: Iterable[int]) -> list[list[int]]:
    """Groups of ranks that differ in one dimension only."""
    if known.sizes.get(dimension, 1) == 1:
        return []
    others = [name for name in _MULTIPLY if name != dimension and known.sizes.get(name, 1) > 1]
    by_others: dict[tuple[int, ...], list[int]] = {}
    for rank in ranks:
        key = tuple(known.coordinates[name].get(rank, -1) for name in others)
        by_others.setdefault(key, []).append(rank)
    return sorted(members for members in by_others.values() if len(members) > 1)


def _expert_groups(known: Known, replica: Mapping[int, int], ranks: Iterable[int]) -> list[list[int]]:
    size = known.sizes["ep"]
    if size == 1:
        return []
    by_key: dict[tuple[int, ...], list[int]] = {}
    spans_context = known.sizes["dp"] % size != 0
    for rank in ranks:
        inside = 0 if spans_context else known.coordinates["cp"][rank]
        key = (known.coordinates["pp"][rank], known.coordinates["tp"][rank], inside, replica[rank] // size)
        by_key.setdefault(key, []).append(rank)
    return sorted(by_key.values())
