"""Puts findings in order and counts no time twice: causes come before their effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from stepscope.diagnosis.finding import ACCUSING, PACE, Finding, GainMethod, Where
from stepscope.diagnosis.losses import CORES_FREE, IDLE_REMOVED, severity_of
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.facts.findings import finding_facts

#: Ways to estimate gains that stand for idle time.
_OF_IDLE_TIME: Final[tuple[GainMethod, ...]] = (IDLE_REMOVED, "pipeline_next_limit")

#: What a leak keeps with every step, as evidence.
_LEAKED: Final = "leak_bytes_per_step"


def ranked(findings: Iterable[Finding], times: Mapping[int, RankTime]) -> list[Finding]:
    """Each told once, without what others explain of it, in order."""
    return in_order(_explained_once(_told_once(list(findings)), times))


def gains_something(finding: Finding) -> bool:
    """A remark that saves nothing as things stand, because something else sets the pace, helps nobody."""
    least = finding_facts().strength.least_gain_share
    return finding.accuses or finding.gain_share is None or finding.gain_share >= least or finding.together is not None


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Urgent findings first, then problems before remarks, by cost."""
    kinds = finding_facts().kinds
    order = list(kinds)
    by_cost = sorted(
        findings,
        key=lambda finding: (
            not (kinds[finding.kind].first and finding.severity in ACCUSING),
            order.index(finding.kind) if kinds[finding.kind].first else 0,
            finding.severity not in ACCUSING,
            -_worth_us(finding),
            -_kept_bytes(finding),
            _is_only_a_limit(finding),
            -(finding.gain_us or 0.0),  # of two that hide each other, the one that helps alone
            order.index(finding.kind),
            finding.id,
        ),
    )
    return _slow_ranks_first(_culprits_first(by_cost))


def _culprits_first(findings: list[Finding]) -> list[Finding]:
    """Of two findings about the job that cost about the same, the one that names a culprit comes first."""
    placed = list(findings)
    like = 1 - finding_facts().strength.like_share
    for at in range(1, len(placed)):
        before, after = placed[at - 1], placed[at]
        both = all(one.accuses and _is_of_cluster(one) for one in (before, after))
        named_after_all = before.where == Where() and after.where != Where()
        if both and named_after_all and _worth_us(after) >= like * _worth_us(before):
            placed[at - 1], placed[at] = after, before
    return placed


def _worth_us(finding: Finding) -> float:
    """For faults that hide each other the cost of both, because fixing only one gains little."""
    return (finding.gain_us or 0.0) if finding.together is None else finding.together.value


def _kept_bytes(finding: Finding) -> float:
    """Leaks cost no time: the one that keeps most comes first."""
    return next((each.value or 0.0 for each in finding.evidence if each.metric == _LEAKED), 0.0)


def _is_only_a_limit(finding: Finding) -> bool:
    """Whether this fault of two that hide each other has no visible effect yet."""
    return finding.evidence[:1] != [] and finding.evidence[0].metric.startswith(PACE)


def _slow_ranks_first(findings: list[Finding]) -> list[Finding]:
    """What other ranks lose to a slow rank comes after it, even if the remainder costs more."""
    left = list(findings)
    placed: list[Finding] = []
    while left:
        reasons = [one for one in left if _is_of_cluster(one)]
        chosen = next((one for one in left if not _reasons(one, reasons)), left[0])
        before = _reasons(chosen, placed)
        placed.append(msgspec.structs.replace(chosen, comes_after=[one.id for one in before]))
        left.remove(chosen)
    return placed


def _reasons(finding: Finding, among: list[Finding]) -> list[Finding]:
    """The findings that explain this one."""
    kinds = finding_facts().kinds
    return [
        other
        for other in among
        if finding.kind in kinds[other.kind].explains
        and other.accuses
        and _concerns(other, finding)
        and not _apart(other, finding)
    ]


def _apart(one: Finding, other: Finding) -> bool:
    """Causes of idle time do not overlap, nor does waiting for a core with waiting for data."""
    if CORES_FREE in (one.gain_method, other.gain_method):
        return "step_jitter" not in (one.kind, other.kind)
    return one.gain_method == other.gain_method == IDLE_REMOVED


def _told_once(findings: list[Finding]) -> list[Finding]:
    """Why a rank or host is slow is part of its finding, with what was found out about it, and no second finding."""
    limits = finding_facts().slow_rank
    slow = [one for one in findings if one.kind in ("slow_rank", "slow_host") and one.accuses]
    told: dict[str, list[Finding]] = {}
    for finding in findings:
        for reason in slow:
            same = limits.is_absorbed(finding.kind, finding.cause, reason.cause)
            if same and set(finding.ranks) <= set(reason.ranks):
                told.setdefault(reason.id, []).append(finding)
    absorbed = {id(one) for parts in told.values() for one in parts}
    return [_with_parts(one, told.get(one.id, [])) for one in findings if id(one) not in absorbed]


def _with_parts(finding: Finding, parts: list[Finding]) -> Finding:
    """A finding with evidence, place and proof of those that it absorbs."""
    if not parts:
        return finding
    where = next((part.where for part in parts if part.where != Where()), finding.where)
    return msgspec.structs.replace(
        finding,
        where=finding.where if finding.where != Where() else where,
        evidence=[*finding.evidence, *(each for part in parts for each in part.evidence)],
        proof=[*finding.proof, *(each for part in parts for each in part.proof)],
        next_commands=list(dict.fromkeys([*finding.next_commands, *(c for part in parts for c in part.next_commands)])),
    )


def _explained_once(findings: list[Finding], times: Mapping[int, RankTime]) -> list[Finding]:
    """A finding loses the time that the reasons behind it explain; what is left of it may be nothing."""
    mild, kinds = finding_facts().strength.mild_share, finding_facts().kinds
    kept = []
    for finding in findings:
        reasons = _reasons(finding, findings)
        explained = sum(_explained_us(finding, reason, times) for reason in reasons)
        if not reasons or finding.gain_us is None or not finding.gain_share:
            kept.append(finding)
            continue
        rest = max(finding.gain_us - explained, 0.0)
        share = finding.gain_share * rest / finding.gain_us
        if share >= (kinds[finding.kind].least_rest_share or mild):
            severity = severity_of(share, finding.confidence) if finding.accuses else finding.severity
            if finding.cause in kinds[finding.kind].symptoms and any(map(_is_of_cluster, reasons)):
                severity = "info"
            kept.append(msgspec.structs.replace(finding, gain_us=rest, gain_share=share, severity=severity))
    return kept


def _explained_us(finding: Finding, reason: Finding, times: Mapping[int, RankTime]) -> float:
    """How much of the time of a finding goes back to a reason behind it.

    Idle time that all steps have explains no long ones: what these have more of it does.
    """
    cause = finding_facts().kinds[reason.kind].idle_cause
    whole = reason.gain_us or 0.0
    if finding.kind != "step_jitter" or cause is None or reason.gain_method not in _OF_IDLE_TIME:
        return whole
    more = [times[rank].more_in_long_steps_us(cause) for rank in finding.ranks if rank in times]
    return min(whole, sum(more) / len(more)) if more else whole


def _concerns(reason: Finding, finding: Finding) -> bool:
    """Others wait for a slow rank, so it explains what they lose; anything else explains its own ranks."""
    return _is_of_cluster(reason) or bool(set(reason.ranks) & set(finding.ranks))


def _is_of_cluster(finding: Finding) -> bool:
    return finding_facts().kinds[finding.kind].scope == "cluster"
