"""The findings of a simulated run beside the faults that were planted in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stepscope.diagnosis.finding import Finding


class PlantedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of ``truth.json``, and the finding that names it, if any does."""

    kind: str
    cause: str | None
    ranks: list[int]
    gain_share: float
    finding: Finding | None


def planted_faults(faults: Sequence[dict[str, Any]], findings: Sequence[Finding]) -> list[PlantedFault]:
    """A finding names a fault if it is of its kind and accuses its ranks."""
    return [
        PlantedFault(
            kind=fault["kind"],
            cause=fault["cause"],
            ranks=fault["ranks"],
            gain_share=fault["gain_share"],
            finding=next((each for each in findings if _names(each, fault)), None),
        )
        for fault in faults
    ]


def accused_beside(planted: Sequence[PlantedFault], findings: Sequence[Finding]) -> list[Finding]:
    """Findings that accuse somebody of what nobody planted."""
    right = [fault.finding.id for fault in planted if fault.finding is not None]
    return [finding for finding in findings if finding.accuses and finding.id not in right]


def _names(finding: Finding, fault: dict[str, Any]) -> bool:
    return finding.kind == fault["kind"] and set(fault["ranks"]) <= set(finding.ranks)
