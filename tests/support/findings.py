"""Findings made by hand."""

from __future__ import annotations

from typing import Any

from stepscope.diagnosis.finding import Bilingual, Finding, Where


def finding(kind: str, ranks: list[int], severity: Any = "warning") -> Finding:
    """A finding that accuses these ranks, and says nothing else."""
    words = Bilingual("", "")
    return Finding(
        id=f"{kind}-{ranks}",
        kind=kind,
        severity=severity,
        cause=None,
        confidence="likely",
        title=words,
        ranks=ranks,
        steps=[],
        where=Where(),
        evidence=[],
        gain_us=None,
        gain_share=None,
        gain_method=None,
        advice=words,
        proof=[],
        validate_with=None,
        next_commands=[],
    )
