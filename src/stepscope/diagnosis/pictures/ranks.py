"""Ranks beside each other in one step: the picture of a finding between ranks that has no stretch of time of its own.

Each rank is a track, on the run's clock: when it computes, and when it communicates or copies while nothing computes.
What sets the accused ranks apart from the others is marked where it lasts longest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from stepscope.analysis.foundation.intervals import Intervals
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.timeline.clock import RunClock, run_clock
from stepscope.analysis.timeline.lanes import rank_lanes
from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.pictures.proofs import PictureSlice, PictureTrack, ProofPicture
from stepscope.facts.findings import finding_facts
from stepscope.store.run_store import RunStore

_MOST_RANKS: Final = 12
_MOST_CULPRITS: Final = 6
#: Stretches closer to each other than this part of the picture are one on any screen.
_PARTS: Final = 1000
#: Which kind of slice stands for a lane, by the lane's place in ``timeline.lanes``.
_KINDS: Final = {0: "kernel", 2: "collective", 3: "copy"}
_COMPUTING: Final = 0
_EXPOSED: Final = 2
#: A clock that is off shows on no corrected clock.
_NOTHING_TO_SEE: Final = ("clock_skew",)


def rank_pictures(store: RunStore, findings: Sequence[Finding]) -> list[ProofPicture]:
    """A picture for each finding between ranks that are here."""
    kinds = finding_facts().kinds
    chosen = [each for each in findings if kinds[each.kind].scope == "cluster" and each.kind not in _NOTHING_TO_SEE]
    if not chosen or len(store.ranks) < 2:
        return []
    clock = run_clock(store)
    drawn = (_picture(store, clock, finding) for finding in chosen)
    return [picture for picture in drawn if picture is not None]


def _picture(store: RunStore, clock: RunClock, finding: Finding) -> ProofPicture | None:
    culprits = [rank for rank in finding.ranks if rank in store.ranks][:_MOST_CULPRITS]
    if not culprits:
        return None
    step = _step(store, culprits[0], finding.steps)
    ranks = sorted({*culprits, *_some_others(store.ranks, culprits)})
    windows = [window for rank in ranks if (window := _window(store, clock, rank, step)) is not None]
    if step is None or not windows:
        return None
    begin, end = min(first for first, _ in windows), max(last for _, last in windows)
    lanes = {rank: [lane.clipped(begin, end) for lane in rank_lanes(store, rank, clock).lanes] for rank in ranks}
    apart = _EXPOSED if finding_facts().kinds[finding.kind].page == "communication" else _sets_apart(lanes, culprits)
    proof = _longest([lanes[rank][apart] for rank in culprits])
    least = max(1, (end - begin) // _PARTS)
    return ProofPicture(
        finding=finding.id,
        rank=culprits[0],
        steps=[step],
        start_ns=begin,
        at_ns=begin,
        dur_ns=end - begin,
        proof_start_ns=proof[0] - begin,
        proof_end_ns=proof[1] - begin,
        tracks=[_track(rank, rank in culprits, lanes[rank], begin, least) for rank in ranks],
        slices_left_out=0,
    )


def _step(store: RunStore, rank: int, named: Sequence[int]) -> int | None:
    """The middle one of the steps that the finding names, else of all that were recorded whole."""
    periods = periods_of(store, rank)
    known = periods.step[periods.known].tolist()
    usable = [step for step in named if step in known] or known
    return usable[len(usable) // 2] if usable else None


def _window(store: RunStore, clock: RunClock, rank: int, step: int | None) -> tuple[int, int] | None:
    periods = periods_of(store, rank)
    position = np.flatnonzero(periods.step == step)
    if step is None or not len(position):
        return None
    first, last = clock.relative(rank, np.array([periods.start[position[0]], periods.end[position[0]]])).tolist()
    return int(first), int(last)


def _some_others(ranks: Sequence[int], culprits: Sequence[int]) -> list[int]:
    """Some other ranks, spread over the job."""
    others = [rank for rank in ranks if rank not in culprits]
    room = _MOST_RANKS - len(culprits)
    return [others[index * len(others) // room] for index in range(room)] if len(others) > room else others


def _sets_apart(lanes: Mapping[int, Sequence[Intervals]], culprits: Sequence[int]) -> int:
    """Whether the accused ranks compute longer than the others, or only communicate longer."""

    def mean(lane: int, accused: bool) -> float:
        totals = [_total(own[lane]) for rank, own in lanes.items() if (rank in culprits) == accused]
        return sum(totals) / len(totals)

    if len(culprits) == len(lanes):
        return _EXPOSED
    return max((_COMPUTING, _EXPOSED), key=lambda lane: mean(lane, True) - mean(lane, False))


def _total(lane: Intervals) -> int:
    return int((lane.end - lane.start).sum())


def _longest(lanes: Sequence[Intervals]) -> tuple[int, int]:
    """The longest stretch of any of them; nothing where they have none."""
    stretches = [(int(last - first), int(first), int(last)) for lane in lanes for first, last in _pairs(lane)]
    _, first, last = max(stretches, default=(0, 0, 0))
    return first, last


def _track(rank: int, accused: bool, lanes: Sequence[Intervals], begin: int, least: int) -> PictureTrack:
    slices = [
        PictureSlice("", kind, 0, int(first) - begin, int(last - first), False)
        for lane, kind in _KINDS.items()
        for first, last in _pairs(_coarse(lanes[lane], least))
    ]
    name = f"▸ rank {rank}" if accused else f"rank {rank}"
    return PictureTrack(name, "rank", 1, sorted(slices, key=lambda each: each.start_ns))


def _coarse(lane: Intervals, least: int) -> Intervals:
    """Stretches with hardly anything between them as one, and none that nobody could see."""
    if not len(lane.start):
        return lane
    apart = np.flatnonzero(lane.start[1:] - lane.end[:-1] >= least)
    start, end = lane.start[np.concatenate(([0], apart + 1))], lane.end[np.concatenate((apart, [len(lane.end) - 1]))]
    seen = end - start >= least
    return Intervals(start[seen], end[seen])


def _pairs(lane: Intervals) -> zip[tuple[int, int]]:
    return zip(lane.start.tolist(), lane.end.tolist(), strict=True)
