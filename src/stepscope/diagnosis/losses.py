"""From what ranks lose per step to findings: ranks that lose to the same cause at the same place are one finding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from msgspec import structs

from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.rank_names import rank_names
from stepscope.diagnosis.finding import (
    Bilingual,
    Confidence,
    Finding,
    FindingEvidence,
    GainMethod,
    Proof,
    Severity,
    Where,
    finding_id,
)
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import percent, plain

#: The way to estimate a gain that many rules share: without the cause, the idle time charged to it is gone.
IDLE_REMOVED: Final = "idle_removed"
#: On a machine without an accelerator: time in which the process was ready to run and others had the cores.
CORES_FREE: Final = "cores_free"
#: Titles that speak of a device which waits, and those for a host that computes by itself.
_WITHOUT_DEVICE: Final = {
    "finding_title.host_dispatch": "finding_title.host_dispatch_on_cpu",
    "finding_title.host_python": "finding_title.host_python_on_cpu",
    "finding_title.host_cpu_contention": "finding_title.host_cpu_contention_on_cpu",
    "finding_title.gc_pause": "finding_title.gc_pause_on_cpu",
    "finding_title.operator_compile": "finding_title.operator_compile_on_cpu",
    "finding_title.idle_dependency": "finding_title.idle_on_cpu",
    "finding_title.idle_unknown": "finding_title.idle_on_cpu",
}


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What one rank loses in its mean step, and the keys of the sentences that tell it.

    ``gain_us`` is None where nobody knows what removing it would save; ``severity`` is given where cost is no measure.
    """

    rank: int
    cause: str
    title: str
    advice: str | Bilingual
    gain_us: float | None
    gain_share: float | None
    gain_method: GainMethod | None
    evidence: list[FindingEvidence]
    where: Where = field(default_factory=Where)
    words: dict[str, object] = field(default_factory=dict)
    confidence: Confidence = "likely"
    severity: Severity | None = None
    steps: list[int] = field(default_factory=list)
    proof: list[Proof] = field(default_factory=list)


@dataclass(frozen=True)
class Next:
    """The next questions to ask, and what shows whether a change helped."""

    commands: tuple[str, ...]
    validate_with: str | None = None


def severity_of(share: float | None, confidence: Confidence) -> Severity:
    """By cost; a suspicion is a warning only if its cost is clear.

    >>> [severity_of(share, "likely") for share in (0.3, 0.05, 0.03)], severity_of(0.05, "suspect")
    (['critical', 'warning', 'info'], 'info')
    """
    strength = finding_facts().strength
    if share is None or share < strength.mild_share:
        return "info"
    if confidence == "suspect":
        return "warning" if share >= strength.clear_share else "info"
    return "critical" if share >= strength.critical_share else "warning"


def findings_of(run: RunContext, kind: str, losses: Iterable[Loss], then: Next) -> list[Finding]:
    """One finding per cause and place; what a slow rank loses beyond its peers is no habit of theirs."""
    groups: dict[tuple[str, str, Where], list[Loss]] = {}
    for loss in losses:
        groups.setdefault((loss.cause, loss.title, structs.replace(loss.where, device=None)), []).append(loss)
    places = [place for group in groups.values() for place in _devices_apart(group)]
    parts = [part for place in places for part in _slow_ranks_apart(run, kind, place)]
    return [_finding(run, kind, part, then) for part in parts]


def _devices_apart(losses: list[Loss]) -> list[list[Loss]]:
    """Ranks of one machine have devices of different numbers, which sets nothing apart; devices of one rank are."""
    if len({loss.rank for loss in losses}) == len(losses):
        return [losses]
    devices: dict[str | None, list[Loss]] = {}
    for loss in losses:
        devices.setdefault(loss.where.device, []).append(loss)
    return list(devices.values())


def _slow_ranks_apart(run: RunContext, kind: str, losses: list[Loss]) -> list[list[Loss]]:
    """Ranks that are slow because they are idle so long, and the others."""
    if len(losses) == 1 or losses[0].gain_method != IDLE_REMOVED:
        return [losses]
    slow = _slow_because_of_it(run, kind, losses[0])
    usual = [loss for loss in losses if loss.rank not in slow]
    level = _mean(loss.gain_us for loss in usual) or 0.0
    times = finding_facts().slow_rank.apart_times
    apart = [loss for loss in losses if loss.rank in slow and (loss.gain_us or 0.0) > times * level]
    if not apart or not usual:
        return [losses]
    return [apart, [loss for loss in losses if loss not in apart]]


def _slow_because_of_it(run: RunContext, kind: str, loss: Loss) -> set[int]:
    """Ranks that are slow, and of which a finding of this kind and cause says why."""
    absorbed = finding_facts().slow_rank.is_absorbed
    slow = [member for member in run.slow_members if absorbed(kind, loss.cause, member.cause)]
    return {rank for member in slow for rank in member.ranks}


def _promised_here(run: RunContext, kind: str, losses: list[Loss]) -> list[Loss]:
    """Without slow ranks: what they compute beyond their peers is promised by their own finding."""
    if losses[0].gain_method == IDLE_REMOVED:
        return losses
    slow = _slow_because_of_it(run, kind, losses[0])
    return [loss for loss in losses if loss.rank not in slow] or losses


def _finding(run: RunContext, kind: str, losses: list[Loss], then: Next) -> Finding:
    by_gain = sorted(losses, key=lambda loss: -(loss.gain_us or 0.0))
    worst = by_gain[0]
    ranks = sorted(loss.rank for loss in losses)
    lists = finding_facts().lists
    counted = _promised_here(run, kind, by_gain)
    gain, share = _mean(loss.gain_us for loss in counted), _mean(loss.gain_share for loss in counted)
    confidence = worst.confidence if worst.severity or _seen_often(run, ranks) else "suspect"
    evidence = worst.evidence if gain is None else _mean_evidence(counted)
    values: dict[str, object] = {
        "ranks": rank_names(ranks, run.ranks),
        "share": percent(share),
        **_numbers_for_title(evidence),
        **worst.words,
    }
    return Finding(
        id=finding_id(kind, worst.cause, ranks, worst.where),
        kind=kind,
        severity=worst.severity or severity_of(share, confidence),
        cause=worst.cause,
        confidence=confidence,
        title=_as_sentence(Bilingual.of(_title(run, worst), **values), values),
        ranks=ranks,
        steps=sorted({step for loss in losses for step in loss.steps})[: lists.most_steps],
        where=worst.where,
        evidence=evidence,
        gain_us=gain,
        gain_share=share,
        gain_method=worst.gain_method if gain is not None else None,
        advice=Bilingual.of(worst.advice, **values) if isinstance(worst.advice, str) else worst.advice,
        proof=[proof for loss in by_gain for proof in loss.proof][: lists.most_proofs]
        or [Proof(rank=worst.rank, page=finding_facts().kinds[kind].page)],
        validate_with=then.validate_with,
        # With several ranks, the worst one decides.
        next_commands=[
            f"{command} --rank {worst.rank}" if len(run.ranks) > 1 and worst.rank in run.ranks else command
            for command in then.commands
        ],
    )


def _numbers_for_title(evidence: list[FindingEvidence]) -> dict[str, object]:
    """Numbers of the evidence, by metric, for the title: it says what stands below it, of all its ranks."""
    return {
        entry.metric: percent(entry.value) if entry.unit == "share" else plain(round(entry.value)) for entry in evidence
    }


def _mean_evidence(losses: list[Loss]) -> list[FindingEvidence]:
    """As the gain, the mean over ranks; what was not measured on all of them is told of the worst."""
    every = [entry for loss in losses for entry in loss.evidence]
    alike = [[each for each in every if each.metric == entry.metric] for entry in losses[0].evidence]
    return [
        structs.replace(
            entries[0],
            value=_mean(each.value for each in entries) or 0.0,
            baseline=_mean(each.baseline for each in entries),
        )
        if len(entries) == len(losses)
        else entries[0]
        for entries in alike
    ]


def _title(run: RunContext, loss: Loss) -> str:
    return _WITHOUT_DEVICE.get(loss.title, loss.title) if run.device_kind(loss.rank) == "cpu" else loss.title


def _seen_often(run: RunContext, ranks: list[int]) -> bool:
    """Whether enough steps show it, of all ranks together; steps that nobody counted say nothing against it."""
    counted = [len(run.times[rank].steps) for rank in ranks if rank in run.times]
    return not counted or sum(counted) >= finding_facts().strength.least_steps


def _as_sentence(words: Bilingual, values: dict[str, object]) -> Bilingual:
    """With a capital also where it begins with words that were put in; names stay as they are."""
    if any(isinstance(value, Bilingual) and words.en.startswith(value.en) for value in values.values()):
        return Bilingual(words.en[:1].upper() + words.en[1:], words.zh)
    return words


def worth_telling(share: float | None) -> bool:
    """Whether a loss is large enough to be reported as a problem."""
    return share is not None and share >= finding_facts().strength.mild_share


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 6) if known else None
