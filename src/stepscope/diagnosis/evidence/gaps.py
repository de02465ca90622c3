"""Gaps in a device's work, as proof."""

from __future__ import annotations

from collections.abc import Callable

from stepscope.analysis.launches.types import Gap
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Proof
from stepscope.facts.findings import finding_facts


def gaps_as_proof(run: RunContext, rank: int, chosen: Callable[[Gap], bool]) -> list[Proof]:
    """The longest gaps of a rank that are of the wanted kind, as ranges of its time."""
    gaps: list[Gap] = sorted(filter(chosen, run.entries("launches", "gaps", rank)), key=lambda gap: -gap.duration_us)
    return [
        Proof(
            rank=rank,
            page="timeline",
            slices=[gap.host_slice] if gap.host_slice is not None else [],
            start_ns=gap.start_ns,
            end_ns=gap.start_ns + round(gap.duration_us * 1000),
        )
        for gap in gaps[: finding_facts().lists.most_proofs]
    ]
