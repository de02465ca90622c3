"""Pictures of findings about memory: its curve with the moment in question, or what a leaking place holds by step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import msgspec

from stepscope.analysis.foundation.units import Bytes, Identifier, Nanoseconds
from stepscope.analysis.leaks.places import LeakingPlace, leaking_places
from stepscope.analysis.leaks.question import leaks
from stepscope.analysis.memory.question import memory
from stepscope.analysis.memory.structures import Curve, Memory
from stepscope.diagnosis.finding import Finding, Proof, Where
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore

_LEAK: Final = "memory_leak"
_MOST_POINTS: Final = 240


class MemoryPicture(msgspec.Struct, frozen=True, kw_only=True):
    """Memory over time, or by step where ``steps`` is known: what is allocated, or what leaking places hold.

    Times count from ``start_ns`` of the rank's own clock. The finding is about ``moment_ns``; of a request that failed
    then, ``others_bytes`` is what other processes held of the device's memory.
    """

    finding: str
    rank: Identifier
    device: str | None
    start_ns: Nanoseconds | None
    moment_ns: Nanoseconds | None
    capacity_bytes: Bytes | None
    others_bytes: Bytes | None
    time_ns: list[Nanoseconds]
    steps: list[Identifier]
    allocated_bytes: list[Bytes]
    reserved_bytes: list[Bytes] | None


def memory_pictures(store: RunStore, findings: Sequence[Finding]) -> list[MemoryPicture]:
    """One picture for each finding that the page of memory proves; none for others."""
    pictures = []
    for finding in findings:
        proof = next((proof for proof in finding.proof if proof.page == "memory"), None)
        if proof is None:
            continue
        try:
            drawn = _held(store, finding, proof) if finding.kind == _LEAK else _curve(store, finding, proof)
        except NoAnswerError:
            continue
        if drawn is not None:
            pictures.append(drawn)
    return pictures


def _curve(store: RunStore, finding: Finding, proof: Proof) -> MemoryPicture | None:
    answer: Memory = memory(store, ranks=[proof.rank], device=finding.where.device).data
    curve = next((one for one in answer.curves if _line(one)), None)
    if curve is None:
        return None
    known = [one.capacity_bytes for one in answer.peaks if one.device == curve.device and one.capacity_bytes]
    failed = [one.others_bytes for one in answer.out_of_memory if one.time_ns == proof.start_ns]
    start, kept = curve.time_ns[0], _highest(_line(curve))
    return MemoryPicture(
        finding=finding.id,
        rank=proof.rank,
        device=curve.device,
        start_ns=start,
        moment_ns=None if proof.start_ns is None else proof.start_ns - start,
        capacity_bytes=known[0] if known else None,
        others_bytes=failed[0] if failed else None,
        time_ns=[curve.time_ns[number] - start for number in kept],
        steps=[],
        allocated_bytes=[_line(curve)[number] for number in kept],
        reserved_bytes=None if curve.reserved_bytes is None else [curve.reserved_bytes[number] for number in kept],
    )


def _line(curve: Curve) -> list[int]:
    return curve.allocated_bytes or curve.active_bytes or curve.reserved_bytes or []


def _highest(values: Sequence[int]) -> list[int]:
    """Positions of few enough points to be drawn: of each stretch its highest, and the last of all."""
    length = -(-len(values) // _MOST_POINTS)
    stretches = (range(first, min(first + length, len(values))) for first in range(0, len(values), length))
    highest = [max(stretch, key=values.__getitem__) for stretch in stretches]
    return highest if highest[-1] == len(values) - 1 else [*highest, len(values) - 1]


def _held(store: RunStore, finding: Finding, proof: Proof) -> MemoryPicture | None:
    """What the leaking place holds after each step: blocks that are still alive at the end, by their births."""
    found = leaks(store, ranks=[proof.rank]).data
    place = next((one for one in leaking_places(found) if _is_where(one, finding.where)), None)
    births = place.births() if place is not None else {}
    if place is None or not births:
        return None
    return MemoryPicture(
        finding=finding.id,
        rank=proof.rank,
        device=place.largest.device,
        start_ns=None,
        moment_ns=None,
        capacity_bytes=None,
        others_bytes=None,
        time_ns=[],
        steps=list(births),
        allocated_bytes=list(accumulate(births.values())),
        reserved_bytes=None,
    )


def _is_where(place: LeakingPlace, where: Where) -> bool:
    return (place.site, place.operator, place.largest.device) == (where.site, where.operator, where.device)
