"""Findings that came, went or changed their weight between two runs."""

from __future__ import annotations

from stepscope.compare.comparison import FindingChange
from stepscope.compare.side import Side
from stepscope.diagnosis.diagnose import diagnose
from stepscope.diagnosis.finding import Finding
from stepscope.facts.comparison import comparison_facts


def finding_changes(first: Side, second: Side) -> list[FindingChange]:
    """One entry per finding that differs between the sides; a problem is recognised by its kind, cause and place."""
    before, after = (_by_identity(diagnose(side.store, ranks=side.ranks).data.findings) for side in (first, second))
    changes = []
    for identity in dict.fromkeys((*after, *before)):
        a, b = before.get(identity), after.get(identity)
        if a is not None and b is not None and not _changed(a, b):
            continue
        one = b or a
        assert one is not None
        changes.append(
            FindingChange(
                change="came" if a is None else "went" if b is None else "changed",
                kind=one.kind,
                cause=one.cause,
                title=one.title,
                a_id=a.id if a else None,
                b_id=b.id if b else None,
                a_severity=a.severity if a else None,
                b_severity=b.severity if b else None,
                a_gain_share=a.gain_share if a else None,
                b_gain_share=b.gain_share if b else None,
            )
        )
    order = {"came": 0, "went": 1, "changed": 2}
    return sorted(
        changes, key=lambda change: (order[change.change], -(change.b_gain_share or change.a_gain_share or 0))
    )


def _by_identity(findings: list[Finding]) -> dict[tuple[object, ...], Finding]:
    return {(each.kind, each.cause, each.where, tuple(each.ranks)): each for each in reversed(findings)}


def _changed(a: Finding, b: Finding) -> bool:
    gains = (a.gain_share or 0.0) - (b.gain_share or 0.0)
    return a.severity != b.severity or abs(gains) >= comparison_facts().changed_gain_share
