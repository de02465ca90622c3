"""The slices around the proofs of findings, few enough to be drawn in a file: what a picture of a proof shows.

Each rank is read once. Where a stretch holds more slices than a picture shows, the proving and the longest ones stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import polars as pl

from stepscope.analysis.foundation.units import Count, Identifier, Nanoseconds
from stepscope.diagnosis.finding import Finding, Proof
from stepscope.store.run_store import RunStore

_MOST_PICTURES: Final = 16
_MOST_OF_A_FINDING: Final = 2
_MOST_SLICES: Final = 500
_MOST_TRACKS: Final = 8
_LEAST_AROUND_NS: Final = 5_000
#: Shown on either side, in lengths of the proof: ordinarily, and where else nothing could be seen beside it.
_AROUND: Final = 0.5
_FAR_AROUND: Final = 1.5
_LEAST_SEEN: Final = 0.01
#: Tracks of devices come first.
_DEVICE_TRACKS: Final = ("stream", "plane")
#: Frames stand in deep piles and hide what they call.
_LEFT_OUT: Final = ("python", "module")


class PictureSlice(msgspec.Struct, frozen=True):
    """A slice; ``start_ns`` counts from the beginning of the picture."""

    name: str
    kind: str
    row: Identifier
    start_ns: Nanoseconds
    dur_ns: Nanoseconds
    proves: bool


class PictureTrack(msgspec.Struct, frozen=True):
    """A track with the slices that the picture shows of it."""

    name: str
    kind: str
    rows: Count
    slices: list[PictureSlice]


class ProofPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a rank's time; the proof lies between ``proof_start_ns`` and ``proof_end_ns`` of it.

    ``start_ns`` is on the rank's own clock, ``at_ns`` counts from its first slice.
    """

    finding: str
    rank: Identifier
    steps: list[Identifier]
    start_ns: Nanoseconds
    at_ns: Nanoseconds
    dur_ns: Nanoseconds
    proof_start_ns: Nanoseconds
    proof_end_ns: Nanoseconds
    tracks: list[PictureTrack]
    slices_left_out: Count


class _Stretch(msgspec.Struct, frozen=True):
    """A proof with its place in time."""

    finding: str
    proof: Proof
    start_ns: int
    end_ns: int

    def with_sides(self, lengths: float) -> tuple[int, int]:
        """With so many of its lengths on either side, so that one sees what stands beside it."""
        more = max(int((self.end_ns - self.start_ns) * lengths), _LEAST_AROUND_NS)
        return self.start_ns - more, self.end_ns + more


def proof_pictures(store: RunStore, findings: Sequence[Finding]) -> list[ProofPicture]:
    """Pictures of the first proofs of each finding, in their order; none for proofs that no timeline shows."""
    proofs = [(each.id, proof) for each in findings for proof in each.proof if _is_on_timeline(proof)]
    chosen: list[tuple[str, Proof]] = []
    for finding, proof in proofs:
        if sum(other == finding for other, _ in chosen) < _MOST_OF_A_FINDING and len(chosen) < _MOST_PICTURES:
            chosen.append((finding, proof))
    drawn: dict[int, ProofPicture] = {}
    for rank in dict.fromkeys(proof.rank for _, proof in chosen):
        own = {number: pair for number, pair in enumerate(chosen) if pair[1].rank == rank}
        drawn |= _of_rank(store, rank, own)
    return [drawn[number] for number in sorted(drawn)]


def _is_on_timeline(proof: Proof) -> bool:
    """A curve of memory is another kind of picture."""
    return proof.page != "memory" and (bool(proof.slices) or proof.end_ns is not None)


def _of_rank(store: RunStore, rank: int, chosen: dict[int, tuple[str, Proof]]) -> dict[int, ProofPicture]:
    stretches = _stretches(store, rank, chosen)
    if not stretches:
        return {}
    end = pl.col("start_ns") + pl.col("dur_ns")
    touching = pl.any_horizontal(
        (pl.col("start_ns") < last) & (end > first)
        for first, last in (each.with_sides(_FAR_AROUND) for each in stretches.values())
    )
    slices = (
        store.scan("slices", [rank])
        .filter(touching)
        .select("slice", "track", "row", "start_ns", "dur_ns", "step", pl.col("name", "kind").cast(pl.String))
        .collect()
    )
    tracks = store.scan("tracks", [rank]).with_columns(pl.col("kind", "name").cast(pl.String)).collect()
    first_ns = store.scan("ranks", [rank]).select(pl.col("first_ns").min()).collect().item() or 0
    return {number: _picture(stretch, slices, tracks, first_ns) for number, stretch in stretches.items()}


def _stretches(store: RunStore, rank: int, chosen: dict[int, tuple[str, Proof]]) -> dict[int, _Stretch]:
    """Where each proof is: its own range, else from the beginning to the end of its slices."""
    wanted = {number for _, proof in chosen.values() if proof.end_ns is None for number in proof.slices}
    times: dict[int, tuple[int, int]] = {}
    if wanted:
        rows = store.scan("slices", [rank]).filter(pl.col("slice").is_in(sorted(wanted)))
        for number, start, duration in rows.select("slice", "start_ns", "dur_ns").collect().iter_rows():
            times[number] = start, start + duration
    stretches = {}
    for number, (finding, proof) in chosen.items():
        known = [times[each] for each in proof.slices if each in times]
        if proof.start_ns is not None and proof.end_ns is not None:
            stretches[number] = _Stretch(finding, proof, proof.start_ns, proof.end_ns)
        elif known:
            stretches[number] = _Stretch(finding, proof, min(known)[0], max(last for _, last in known))
    return stretches


def _picture(stretch: _Stretch, slices: pl.DataFrame, tracks: pl.DataFrame, first_ns: int) -> ProofPicture:
    begin, end = _shown(stretch, slices)
    begin = max(begin, min(first_ns, stretch.start_ns))
    proves = pl.col("slice").is_in(stretch.proof.slices)
    inside = (pl.col("start_ns") < end) & (pl.col("start_ns") + pl.col("dur_ns") > begin)
    shown = slices.with_columns(proves=proves).filter(inside & (~pl.col("kind").is_in(_LEFT_OUT) | proves))
    steps = shown.filter(pl.col("kind") != "step")["step"].drop_nulls().unique().sort().to_list()
    shown = shown.filter(pl.col("track").is_in(_tracks_shown(shown, begin, end)))
    kept = shown.sort("proves", "dur_ns", descending=True).head(_MOST_SLICES)
    about = tracks.filter(pl.col("track").is_in(kept["track"].unique().to_list()))
    about = about.sort(~pl.col("kind").is_in(_DEVICE_TRACKS), "order")
    return ProofPicture(
        finding=stretch.finding,
        rank=stretch.proof.rank,
        steps=steps,
        start_ns=begin,
        at_ns=begin - first_ns,
        dur_ns=end - begin,
        proof_start_ns=stretch.start_ns - begin,
        proof_end_ns=stretch.end_ns - begin,
        tracks=[
            _track(row["name"], row["kind"], kept.filter(track=row["track"]), begin, end)
            for row in about.iter_rows(named=True)
        ],
        slices_left_out=len(shown) - len(kept),
    )


def _shown(stretch: _Stretch, slices: pl.DataFrame) -> tuple[int, int]:
    """A gap between operators that are too short to be seen is shown with more of what stands around it."""
    begin, end = stretch.with_sides(_AROUND)
    last = pl.col("start_ns") + pl.col("dur_ns")
    within = slices.filter(
        (pl.col("start_ns") < end)
        & (last > begin)
        & ((pl.col("start_ns") > begin) | (last < end))
        & ~pl.col("kind").is_in(_LEFT_OUT)
    )
    cut = pl.min_horizontal(last, pl.lit(end)) - pl.max_horizontal(pl.col("start_ns"), pl.lit(begin))
    longest = within.select(cut.max()).item() or 0
    return stretch.with_sides(_AROUND if longest >= _LEAST_SEEN * (end - begin) else _FAR_AROUND)


def _tracks_shown(slices: pl.DataFrame, begin: int, end: int) -> list[int]:
    """Those with proofs on them, then the busiest; none on which nothing begins or ends within the picture."""
    last = pl.col("start_ns") + pl.col("dur_ns")
    slices = slices.filter(((pl.col("start_ns") > begin) | (last < end) | pl.col("proves")).any().over("track"))
    busy = slices.group_by("track").agg(pl.col("proves").any(), pl.col("dur_ns").sum())
    return busy.sort("proves", "dur_ns", descending=True).head(_MOST_TRACKS)["track"].to_list()


def _track(name: str | None, kind: str | None, slices: pl.DataFrame, begin: int, end: int) -> PictureTrack:
    """Rows without slices are left out; slices are cut to the picture."""
    row = pl.col("row").rank("dense").cast(pl.Int64) - 1
    cut = slices.with_columns(
        row=row,
        first=pl.max_horizontal(pl.col("start_ns"), pl.lit(begin)),
        last=pl.min_horizontal(pl.col("start_ns") + pl.col("dur_ns"), pl.lit(end)),
    ).sort("row", "start_ns")
    drawn = [
        PictureSlice(
            each["name"] or "",
            each["kind"] or "",
            each["row"],
            each["first"] - begin,
            each["last"] - each["first"],
            each["proves"],
        )
        for each in cut.iter_rows(named=True)
    ]
    return PictureTrack(name or "", kind or "", 1 + max((each.row for each in drawn), default=0), drawn)
