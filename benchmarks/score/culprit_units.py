"""What is counted: culprits, each with the kind of its fault, in the truth of a run and in its findings."""

from __future__ import annotations

from typing import Any, Final

from stepscope.diagnosis.finding import Finding

#: A culprit: the kind, and a rank, host, link or stage; the run itself where a fault is everybody's.
Unit = tuple[str, str]
_BY_RANK: Final = ("slow_rank", "frequency_drop", "expert_imbalance")
_BY_HOST: Final = ("slow_host", "clock_skew")
_WHOLE: Final = "run"


def true_units(fault: dict[str, Any]) -> list[Unit]:
    """Culprits of a fault of ``truth.json``."""
    kind, where = fault["kind"], fault["where"]
    if kind in _BY_RANK:
        return [(kind, f"rank {rank}") for rank in fault["ranks"]]
    if kind in _BY_HOST:
        return [(kind, where["host"])]
    if kind == "slow_link":
        return [(kind, link_name(*link)) for link in fault["links"]] or [(kind, f"card {fault['ranks'][0]}")]
    if kind == "stage_imbalance":
        return [(kind, f"stage {where['stage']}")]
    return [(kind, _WHOLE)]


def accused_units(finding: Finding) -> list[Unit]:
    """Culprits that a finding names."""
    kind, where = finding.kind, finding.where
    if kind in _BY_RANK:
        return [(kind, f"rank {rank}") for rank in finding.ranks]
    if kind in _BY_HOST:
        return [(kind, str(where.host))]
    if kind == "slow_link":
        if where.link is not None:
            return [(kind, where.link)]
        card = finding.cause == "card" and len(finding.ranks) == 1
        return [(kind, f"card {finding.ranks[0]}" if card else f"group {where.group}")]
    if kind == "stage_imbalance":
        return [(kind, f"stage {where.stage}")]
    return [(kind, _WHOLE)]


def link_name(rank: int, peer: int) -> str:
    """A link as ``where.link`` of a finding has it.

    >>> link_name(9, 3)
    '3-9'
    """
    return f"{min(rank, peer)}-{max(rank, peer)}"
