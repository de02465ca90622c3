"""The answer to ``leaks``. Null is what the capture cannot tell."""

from __future__ import annotations

import msgspec

from stepscope.analysis.foundation.units import Bytes, BytesPerStep, Count, Identifier, Ratio, Share


class Birth(msgspec.Struct, frozen=True):
    """Blocks of one birth step that are alive at the end."""

    step: Identifier
    blocks: Count
    bytes: Bytes


class Site(msgspec.Struct, frozen=True):
    """One place that allocates, and whether it leaks."""

    rank: Identifier
    device: str
    pool: str
    site: str
    operator: str | None
    verdict: str
    confidence: str
    reason: str
    reason_values: dict[str, str]
    bytes_per_step: BytesPerStep
    r_squared: Ratio | None
    growth_bytes: Bytes
    growth_share: Share | None
    bytes_at_end: Bytes
    blocks: Count
    first_step: Identifier | None
    oldest_age_steps: Count | None
    intervals: Count
    in_step_blocks: Count
    category: str | None
    steps_to_oom: Count | None
    leaking_ranks: list[Identifier]
    graph: Identifier | None
    births: list[Birth]
    stack: str | None


class Graph(msgspec.Struct, frozen=True):
    """Leaking sites of one place and rhythm: most likely an output that is kept with its autograd graph."""

    graph: Identifier
    rank: Identifier
    sites: Count
    where: str
    bytes_per_step: BytesPerStep


class Pool(msgspec.Struct, frozen=True):
    """A whole space from step to step, and how much of its growth the sites explain."""

    rank: Identifier
    device: str
    pool: str
    verdict: str
    steps: Count
    bytes_per_step: BytesPerStep
    explained_bytes_per_step: BytesPerStep
    unexplained_bytes_per_step: BytesPerStep
    reserved_bytes_per_step: BytesPerStep | None
    growth_bytes: Bytes
    bytes_at_end: Bytes


class Leaks(msgspec.Struct, frozen=True):
    """Sites, leaks first; pools; graphs; and how many sites never held anything beyond their step."""

    sites: list[Site]
    pools: list[Pool]
    graphs: list[Graph]
    temporary_sites: Count
    warm_up_steps: Count
    leaking_sites: Count
    leaking_bytes_per_step: BytesPerStep
