"""The answer to ``leaks``. Null is what the capture cannot tell."""

from __future__ import annotations

import msgspec


class Birth(msgspec.Struct, frozen=True):
    """Blocks of one birth step that are alive at the end."""

    step: int
    blocks: int
    bytes: int


class Site(msgspec.Struct, frozen=True):
    """One place that allocates, and whether it leaks."""

    rank: int
    device: str
    pool: str
    site: str
    operator: str | None
    verdict: str
    confidence: str
    reason: str
    reason_values: dict[str, str]
    bytes_per_step: float
    r_squared: float | None
    growth_bytes: int
    growth_share: float | None
    bytes_at_end: int
    blocks: int
    first_step: int | None
    oldest_age_steps: int | None
    intervals: int
    in_step_blocks: int
    category: str | None
    steps_to_oom: int | None
    leaking_ranks: list[int]
    graph: int | None
    births: list[Birth]
    stack: str | None


class Graph(msgspec.Struct, frozen=True):
    """Leaking sites of one place and rhythm: most likely an output that is kept with its autograd graph."""

    graph: int
    rank: int
    sites: int
    where: str
    bytes_per_step: float


class Pool(msgspec.Struct, frozen=True):
    """A whole space from step to step, and how much of its growth the sites explain."""

    rank: int
    device: str
    pool: str
    verdict: str
    steps: int
    bytes_per_step: float
    explained_bytes_per_step: float
    unexplained_bytes_per_step: float
    reserved_bytes_per_step: float | None
    growth_bytes: int
    bytes_at_end: int


class Leaks(msgspec.Struct, frozen=True):
    """Sites, leaks first; pools; graphs; and how many sites never held anything beyond their step."""

    sites: list[Site]
    pools: list[Pool]
    graphs: list[Graph]
    temporary_sites: int
    warm_up_steps: int
    leaking_sites: int
    leaking_bytes_per_step: float
