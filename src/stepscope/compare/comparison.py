"""What a comparison says, as typed structures. All times are means per step; ``delta`` is B less A."""

from __future__ import annotations

from typing import Literal

import msgspec

from stepscope.analysis.foundation.units import (
    Bytes,
    BytesPerStep,
    Count,
    Identifier,
    MeanCount,
    Microseconds,
    Ratio,
    Share,
)
from stepscope.diagnosis.finding import Bilingual

Word = Literal["faster", "slower", "same", "not_comparable"]
Status = Literal["matched", "other_shapes", "renamed", "replaced", "only_a", "only_b"]


class ComparedSide(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared."""

    name: str
    path: str
    window: str
    ranks: list[Identifier]
    steps: Count
    device_kind: str | None
    device_name: str | None
    period_us: Microseconds
    period_median_us: Microseconds
    period_p95_us: Microseconds
    peak_bytes: Bytes | None


class Reason(msgspec.Struct, frozen=True):
    """Why the sides cannot be compared, or what to keep in mind."""

    code: str
    sentence: Bilingual


class ComparisonVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison in one word and one sentence; below ``floor_share`` nothing is called a difference."""

    word: Word
    sentence: Bilingual
    delta_us: Microseconds
    delta_share: Share
    noise_us: Microseconds | None
    floor_share: Share
    reasons: list[Reason]
    steps_needed: Count | None


class PartChange(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the period; ``share`` is of A's period."""

    part: str
    a_us: Microseconds
    b_us: Microseconds
    delta_us: Microseconds
    delta_share: Share
    noise_us: Microseconds | None
    significant: bool


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for the difference; all of them add up to it exactly. Without a name: the rest of its part."""

    part: str
    name: str | None
    label: Bilingual
    a_us: Microseconds
    b_us: Microseconds
    delta_us: Microseconds
    share_of_change: Share | None
    significant: bool
    rows: Count


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
    a_count: MeanCount
    b_count: MeanCount
    a_us: Microseconds
    b_us: Microseconds
    delta_us: Microseconds
    delta_share: Share
    ratio: Ratio | None
    count_effect_us: Microseconds
    duration_effect_us: Microseconds
    significant: bool
    a_rank: Identifier | None
    a_slice: Identifier | None
    b_rank: Identifier | None
    b_slice: Identifier | None


class GroupChange(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one name, a category, a module or a kind of collective: durations as recorded, which may overlap."""

    name: str
    a_count: MeanCount
    b_count: MeanCount
    a_us: Microseconds
    b_us: Microseconds
    delta_us: Microseconds
    ratio: Ratio | None
    significant: bool


class CommunicationChange(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of collective or point-to-point call; ``exposed`` is what computing did not hide."""

    name: str
    a_count: MeanCount
    b_count: MeanCount
    a_us: Microseconds
    b_us: Microseconds
    delta_us: Microseconds
    a_exposed_us: Microseconds
    b_exposed_us: Microseconds
    delta_exposed_us: Microseconds
    a_bytes: BytesPerStep | None
    b_bytes: BytesPerStep | None
    significant: bool


class StepPair(msgspec.Struct, frozen=True, kw_only=True):
    """The counted steps in their order; a side that has fewer is null. Over ranks the mean."""

    position: Identifier
    a_step: Identifier | None
    b_step: Identifier | None
    a_us: Microseconds | None
    b_us: Microseconds | None
    delta_us: Microseconds | None


class MemoryChange(msgspec.Struct, frozen=True, kw_only=True):
    """The highest peak of all ranks."""

    a_peak_bytes: Bytes
    b_peak_bytes: Bytes
    delta_bytes: Bytes


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
    a_gain_share: Share | None
    b_gain_share: Share | None


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One of the runs in their order. ``word`` and ``changed`` are against all runs since the last change."""

    name: str
    path: str
    window: str
    steps: Count
    period_us: Microseconds
    period_p95_us: Microseconds
    delta_us: Microseconds
    delta_share: Share
    word: Word | None
    changed: bool


class Gate(msgspec.Struct, frozen=True):
    """A condition that a comparison must not meet, and whether it does."""

    gate: str
    failed: bool
    sentence: Bilingual


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
    history: list[HistoryEntry] = []
    gates: list[Gate] = []
    rows_left_out: Count = 0


def part_label(part: str) -> Bilingual:
    """What a part of the period is called."""
    section, name = ("compare_idle", part[5:]) if part.startswith("idle_") else ("compare_part", part)
    return Bilingual.of(f"{section}.{name}")
