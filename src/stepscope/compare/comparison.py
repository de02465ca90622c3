"""What a comparison says, as typed structures. All times are means per step; ``delta`` is B less A."""

from __future__ import annotations

from typing import Literal

import msgspec

from stepscope.diagnosis.finding import Bilingual

Word = Literal["faster", "slower", "same", "not_comparable"]
Status = Literal["matched", "other_shapes", "renamed", "replaced", "only_a", "only_b"]


class ComparedSide(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared."""

    name: str
    path: str
    window: str
    ranks: list[int]
    steps: int
    device_kind: str | None
    device_name: str | None
    period_us: float
    period_median_us: float
    period_p95_us: float
    peak_bytes: int | None


class Reason(msgspec.Struct, frozen=True):
    """Why the sides cannot be compared, or what to keep in mind."""

    code: str
    sentence: Bilingual


class ComparisonVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison in one word and one sentence; below ``floor_share`` nothing is called a difference."""

    word: Word
    sentence: Bilingual
    delta_us: float
    delta_share: float
    noise_us: float | None
    floor_share: float
    reasons: list[Reason]
    steps_needed: int | None


class PartChange(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the period; ``share`` is of A's period."""

    part: str
    a_us: float
    b_us: float
    delta_us: float
    delta_share: float
    noise_us: float | None
    significant: bool


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for the difference; all of them add up to it exactly. Without a name: the rest of its part."""

    part: str
    name: str | None
    label: Bilingual
    a_us: float
    b_us: float
    delta_us: float
    share_of_change: float | None
    significant: bool
    rows: int


class OperatorChange(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of an operator on both sides. ``delta = count_effect + duration_effect``, exactly.

    ``a_slice`` and ``b_slice`` are an example on ``a_rank`` and ``b_rank``.
    """

    part: str
    name: str
    b_name: str | None
    path: str
    b_path: str | None
    shapes: str | None
    b_shapes: str | None
    module: str | None
    status: Status
    a_count: float
    b_count: float
    a_us: float
    b_us: float
    delta_us: float
    delta_share: float
    ratio: float | None
    count_effect_us: float
    duration_effect_us: float
    significant: bool
    a_rank: int | None
    a_slice: int | None
    b_rank: int | None
    b_slice: int | None


class GroupChange(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one name, a category, a module or a kind of collective: durations as recorded, which may overlap."""

    name: str
    a_count: float
    b_count: float
    a_us: float
    b_us: float
    delta_us: float
    ratio: float | None
    significant: bool


class CommunicationChange(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of collective or point-to-point call; ``exposed`` is what computing did not hide."""

    name: str
    a_count: float
    b_count: float
    a_us: float
    b_us: float
    delta_us: float
    a_exposed_us: float
    b_exposed_us: float
    delta_exposed_us: float
    a_bytes: float | None
    b_bytes: float | None
    significant: bool


class StepPair(msgspec.Struct, frozen=True, kw_only=True):
    """The counted steps in their order; a side that has fewer is null. Over ranks the mean."""

    position: int
    a_step: int | None
    b_step: int | None
    a_us: float | None
    b_us: float | None
    delta_us: float | None


class MemoryChange(msgspec.Struct, frozen=True, kw_only=True):
    """The highest peak of all ranks."""

    a_peak_bytes: int
    b_peak_bytes: int
    delta_bytes: int


class FindingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that one side has, or that both have with another weight."""

    change: Literal["came", "went", "changed"]
    kind: str
    cause: str | None
    title: Bilingual
    a_id: str | None
    b_id: str | None
    a_severity: str | None
    b_severity: str | None
    a_gain_share: float | None
    b_gain_share: float | None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides, what changed and why."""

    verdict: ComparisonVerdict
    a: ComparedSide
    b: ComparedSide
    overall: list[PartChange]
    explained: list[Explanation]
    steps: list[StepPair]
    operators: list[OperatorChange]
    kernels: list[GroupChange]
    categories: list[GroupChange]
    modules: list[GroupChange]
    communication: list[CommunicationChange]
    memory: MemoryChange | None
    findings: list[FindingChange]
    rows_left_out: int
