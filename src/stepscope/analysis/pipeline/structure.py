"""The answer about the input pipeline, as every face of Stepscope shows it."""

from __future__ import annotations

from typing import Literal

import msgspec

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
    value: float
    unit: str
    baseline: float | None = None
    op: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What holds a rank's training up, as far as data are concerned."""

    rank: int
    mode: Mode
    bound: Bound
    certain: bool
    rule: str | None
    rules: list[str]
    op: int | None
    op_name: str | None
    why: list[Sentence]
    advice: list[Sentence]
    period_us: float | None
    wait_share: float | None
    interval_us: float | None
    interval_share: float | None
    potential_speedup: float | None
    limited_by: str | None
    evidence: list[Evidence]


class Starving(msgspec.Struct, frozen=True):
    """Which steps (or batches, where steps are unknown) had to wait for data."""

    rank: int
    unit: Literal["step", "batch"]
    counted: int
    count: int
    share: float | None
    settled_share: float | None
    which: list[int]


class PipelineOp(msgspec.Struct, frozen=True):
    """A stage of the pipeline with its output queue and its processor time."""

    rank: int
    op: int
    name: str
    kind: str | None
    parent: int | None
    children: list[int]
    depth: int
    workers: int | None
    capacity: int | None
    sink: bool
    samples: int
    queue_mean: float | None
    use_share: float | None
    use_p50_share: float | None
    empty_share: float | None
    full_share: float | None
    starving_use_share: float | None
    blame_share: float | None
    cpu_cores: float | None
    cpu_per_worker_share: float | None
    cost_us: float | None


class QueueCurve(msgspec.Struct, frozen=True):
    """Fill of an output queue over time; the extremes of every stretch are kept."""

    rank: int
    op: int
    name: str
    capacity: int | None
    time_ns: list[int]
    queue: list[int]


class BatchTimes(msgspec.Struct, frozen=True):
    """One part of handing over a batch, over all batches; first ones (of the run, of an epoch) stand apart."""

    rank: int
    part: Literal["get", "push", "total", "interval"]
    count: int
    first_us: float | None
    mean_us: float
    median_us: float
    p95_us: float
    max_us: float


class Pipeline(msgspec.Struct, frozen=True):
    """The input pipeline of a run. ``verdict`` is that of the rank that loses most."""

    verdict: Verdict
    bottleneck: str | None
    verdicts: list[Verdict]
    starving: list[Starving]
    ops: list[PipelineOp]
    queues: list[QueueCurve]
    batches: list[BatchTimes]
