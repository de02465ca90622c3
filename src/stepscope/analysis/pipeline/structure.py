"""The answer about the input pipeline, as every face of Stepscope shows it."""

from __future__ import annotations

from typing import Literal

import msgspec

from stepscope.analysis.foundation.units import (
    Cores,
    Count,
    Identifier,
    InUnitBeside,
    MeanCount,
    Microseconds,
    Nanoseconds,
    Ratio,
    Share,
)
from stepscope.texts import text

Bound = Literal["pipeline", "transfer", "user_code", "getnext", "none", "unknown"]
Mode = Literal["sink", "feed", "unknown"]


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of the catalogue with its values put in."""

    key: str
    en: str
    zh: str

    @classmethod
    def of(cls, key: str, **params: object) -> Sentence:
        """The sentence of a key in both languages."""
        return cls(key, text(key, "en", **params), text(key, "zh", **params))


class Evidence(msgspec.Struct, frozen=True):
    """A number that the verdict rests on, and the one it was compared with."""

    metric: str
    value: InUnitBeside
    unit: str
    baseline: InUnitBeside | None = None
    op: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What holds a rank's training up, as far as data are concerned."""

    rank: Identifier
    mode: Mode
    bound: Bound
    certain: bool
    rule: str | None
    rules: list[str]
    op: Identifier | None
    op_name: str | None
    why: list[Sentence]
    advice: list[Sentence]
    period_us: Microseconds | None
    wait_share: Share | None
    interval_us: Microseconds | None
    interval_share: Share | None
    potential_speedup: Ratio | None
    limited_by: str | None
    evidence: list[Evidence]


class Starving(msgspec.Struct, frozen=True):
    """Which steps (or batches, where steps are unknown) had to wait for data."""

    rank: Identifier
    unit: Literal["step", "batch"]
    counted: Count
    count: Count
    share: Share | None
    settled_share: Share | None
    which: list[Identifier]


class PipelineOp(msgspec.Struct, frozen=True):
    """A stage of the pipeline with its output queue and its processor time."""

    rank: Identifier
    op: Identifier
    name: str
    kind: str | None
    parent: Identifier | None
    children: list[Identifier]
    depth: Count
    workers: Count | None
    capacity: Count | None
    sink: bool
    samples: Count
    queue_mean: MeanCount | None
    use_share: Share | None
    use_p50_share: Share | None
    empty_share: Share | None
    full_share: Share | None
    starving_use_share: Share | None
    blame_share: Share | None
    cpu_cores: Cores | None
    cpu_per_worker_share: Share | None
    cost_us: Microseconds | None


class QueueCurve(msgspec.Struct, frozen=True):
    """Fill of an output queue over time; the extremes of every stretch are kept."""

    rank: Identifier
    op: Identifier
    name: str
    capacity: Count | None
    time_ns: list[Nanoseconds]
    queue: list[Count]


class BatchTimes(msgspec.Struct, frozen=True):
    """One part of handing over a batch, over all batches; first ones (of the run, of an epoch) stand apart."""

    rank: Identifier
    part: Literal["get", "push", "total", "interval"]
    count: Count
    first_us: Microseconds | None
    mean_us: Microseconds
    median_us: Microseconds
    p95_us: Microseconds
    max_us: Microseconds


class Pipeline(msgspec.Struct, frozen=True):
    """The input pipeline of a run. ``verdict`` is that of the rank that loses most."""

    verdict: Verdict
    bottleneck: str | None
    verdicts: list[Verdict]
    starving: list[Starving]
    ops: list[PipelineOp]
    queues: list[QueueCurve]
    batches: list[BatchTimes]
