"""How much of the timeline the picture of a proof shows."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

import stepscope
from stepscope.diagnosis.finding import Proof
from stepscope.diagnosis.pictures.proofs import ProofPicture, proof_pictures
from support.findings import finding

_START_US = 1_000
#: A proof of 10 ms without any work.
_GAP_US = (100_000, 110_000)


def _picture(tmp_path: Path, *operators: tuple[int, int]) -> ProofPicture:
    """Of the gap between operators, each with its start and its length in µs."""
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": _START_US + start, "dur": duration}
        for start, duration in [(0, 10), *operators]
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    run = stepscope.load(path, progress=False)
    origin = run.table("ranks").select("first_ns").collect().item()
    start, end = (origin + each * 1_000 for each in _GAP_US)
    proof = Proof(rank=0, slices=[], start_ns=start, end_ns=end, page="timeline")
    (picture,) = proof_pictures(run.store, [msgspec.structs.replace(finding("idle_gap", [0]), proof=[proof])])
    return picture


def test_half_of_its_length_stands_on_either_side(tmp_path: Path) -> None:
    picture = _picture(tmp_path, (95_000, 5_000), (110_000, 1_000))
    assert (picture.proof_start_ns, picture.dur_ns) == (5_000_000, 20_000_000)


def test_more_is_shown_where_nothing_beside_it_could_be_seen(tmp_path: Path) -> None:
    picture = _picture(tmp_path, (88_000, 5_000), (99_990, 10), (110_000, 10))
    assert (picture.proof_start_ns, picture.dur_ns) == (15_000_000, 40_000_000)
    assert [each.dur_ns for track in picture.tracks for each in track.slices] == [5_000_000, 10_000, 10_000]
