"""Pictures of findings from the timeline: around their proofs, else of ranks beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.pictures.proofs import ProofPicture, proof_pictures
from stepscope.diagnosis.pictures.ranks import rank_pictures
from stepscope.store.run_store import RunStore


def pictures_of(store: RunStore, findings: Sequence[Finding]) -> list[ProofPicture]:
    """What the timeline shows of each finding; nothing of those that the page of memory proves."""
    pictures = proof_pictures(store, findings)
    drawn = {picture.finding for picture in pictures}
    return pictures + rank_pictures(store, [finding for finding in findings if finding.id not in drawn])
