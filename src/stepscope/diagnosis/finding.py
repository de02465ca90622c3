"""The finding: one diagnosed problem with its evidence, what removing it would gain, advice and proof."""

from __future__ import annotations

import hashlib
from typing import Final, Literal

import msgspec

from stepscope.analysis.foundation.units import Count, Identifier, InUnitBeside, Microseconds, Nanoseconds, Share
from stepscope.texts import text

Severity = Literal["critical", "warning", "info"]
Confidence = Literal["confirmed", "likely", "suspect"]
#: How a gain was estimated (docs/findings.md): by a replay, else by what the rule knows.
GainMethod = Literal[
    "replay",
    "replay_uncertain",
    "replay_alone",
    "call_replay",
    "operation_replay",
    "idle_removed",
    "cores_free",
    "pipeline_next_limit",
    "waiting_removed",
    "exposure_removed",
    "copies_overlapped",
    "copies_removed",
    "host_work_removed",
    "kernels_removed",
    "fused",
    "half_precision",
    "reachable_rate",
    "usual_clock",
    "usual_step",
    "usual_transfer",
    "link_as_others",
    "more_micro_batches",
    "stage_evened",
]
Page = Literal["timeline", "data", "memory", "operators", "cpu", "steps", "cluster", "communication"]

#: Severities that say that something is wrong; a healthy run has none of them.
ACCUSING: Final = ("critical", "warning")
#: Evidence of a finding that hides behind another: what is saved with both mended.
TOGETHER: Final = "gain_together"
#: Evidence of one that is only a limit as yet: the step that it allows.
PACE: Final = "pace_of_"
_DIGITS_OF_ID: Final = 8


class Bilingual(msgspec.Struct, frozen=True):
    """A sentence in both languages."""

    en: str
    zh: str

    @classmethod
    def of(cls, key: str, **values: object) -> Bilingual:
        """The sentence of a key, with its values put in; values that are sentences themselves come in each language."""
        return cls(*(text(key, lang, **_in_language(values, lang)) for lang in ("en", "zh")))


def _in_language(values: dict[str, object], lang: str) -> dict[str, object]:
    return {name: getattr(value, lang) if isinstance(value, Bilingual) else value for name, value in values.items()}


class FindingEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """A number that the finding rests on, the one it was compared with, and the page that shows it."""

    metric: str
    label: Bilingual
    value: InUnitBeside
    unit: str
    baseline: InUnitBeside | None = None
    link: Page | None = None


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """The culprit, as far as it has a name."""

    host: str | None = None
    link: str | None = None
    stage: Identifier | None = None
    group: str | None = None
    operator: str | None = None
    pipeline_op: str | None = None
    site: str | None = None
    device: str | None = None


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """Where to see it: slices, or a range of the rank's time, and the page that shows them."""

    rank: Identifier
    page: Page
    slices: list[Identifier] = []
    start_ns: Nanoseconds | None = None
    end_ns: Nanoseconds | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One diagnosed problem. ``ranks`` are those that cause it, not those that suffer."""

    id: str
    kind: str
    severity: Severity
    cause: str | None
    confidence: Confidence
    title: Bilingual
    ranks: list[Identifier]
    steps: list[Identifier]
    where: Where
    evidence: list[FindingEvidence]
    gain_us: Microseconds | None
    gain_share: Share | None
    gain_method: GainMethod | None
    advice: Bilingual
    proof: list[Proof]
    validate_with: str | None
    next_commands: list[str]
    #: Findings that explain a part of this one, and so stand before it, whatever they cost.
    comes_after: list[str] = []

    @property
    def accuses(self) -> bool:
        """Whether something is wrong, rather than worth knowing."""
        return self.severity in ACCUSING

    @property
    def together(self) -> FindingEvidence | None:
        """The most that is saved with another finding mended, too; None where it hides behind none."""
        saved = [entry for entry in self.evidence if entry.metric == TOGETHER]
        return max(saved, key=lambda entry: entry.value, default=None)


class NotChecked(msgspec.Struct, frozen=True):
    """A kind that could not be checked, what was missing, and how to record it.

    ``recordable`` is false where no other recording of this job would show it: it does not happen in such a job, or
    nothing records it on this device.
    """

    kind: str
    needs: Bilingual
    collect_with: Bilingual
    recordable: bool = True


class PathStep(msgspec.Struct, frozen=True, kw_only=True):
    """A question of a decision tree: what was seen, from what on it is a yes, and the findings that it led to.

    ``depth`` 1 is asked because the question before it at depth 0 was answered with yes. ``ranks`` stand out.
    """

    tree: str
    question: str
    text: Bilingual
    depth: Count
    group: str | None
    ranks: list[Identifier]
    value: InUnitBeside | None
    threshold: InUnitBeside | None
    unit: str | None
    answer: Literal["yes", "no", "unknown"]
    findings: list[str]


class RunVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The run in one sentence: its most important finding, or that it is healthy as far as it was checked."""

    severity: Literal["critical", "warning", "info", "healthy"]
    sentence: Bilingual
    finding: str | None
    checked: list[str]


class Diagnosis(msgspec.Struct, frozen=True):
    """All findings of a run, the most important first."""

    verdict: RunVerdict
    findings: list[Finding]
    not_checked: list[NotChecked]
    period_us: Microseconds | None = None
    path: list[PathStep] = []


def finding_id(kind: str, cause: str | None, ranks: list[int], where: Where) -> str:
    """A name that stays the same as long as the same thing is found at the same place.

    >>> finding_id("slow_rank", "compute", [2], Where()) == finding_id("slow_rank", "compute", [2], Where())
    True
    """
    identity = msgspec.json.encode([kind, cause, ranks, where])
    return f"{kind}-{hashlib.sha256(identity).hexdigest()[:_DIGITS_OF_ID]}"
