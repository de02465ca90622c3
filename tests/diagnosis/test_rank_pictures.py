"""Ranks beside each other in one step: what is drawn against all slices, moment by moment."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl
import pytest

import stepscope
from stepscope.diagnosis.pictures.ranks import rank_pictures
from stepscope.run import Run
from stepscope.simulate.scenario import FaultEntry, Plan
from stepscope.simulate.writing import simulate
from support.findings import finding
from support.scenarios import small


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("simulated") / "run"
    simulate(small(plan=Plan(dp=4)), out)
    return stepscope.load(out, progress=False)


def _covered(rows: pl.DataFrame, first: int, last: int, at: int) -> bool:
    moment = first + at * (last - first) // 200
    return bool(((rows["start_ns"] <= moment) & (rows["start_ns"] + rows["dur_ns"] > moment)).any())


def test_each_rank_computes_where_its_kernels_run(run: Run) -> None:
    (picture,) = rank_pictures(run.store, [finding("slow_link", [1, 2])])
    assert [track.name for track in picture.tracks] == ["rank 0", "▸ rank 1", "▸ rank 2", "rank 3"]
    ranks = {row["rank"]: row for row in run.table("ranks").collect().to_dicts()}
    origin = min(row["first_ns"] + (row["clock_offset_ns"] or 0) for row in ranks.values())
    for rank, track in enumerate(picture.tracks):
        shift = origin - (ranks[rank]["clock_offset_ns"] or 0)  # drift moves nothing within such a short run
        slices = run.table("slices", [rank]).select(pl.col("kind").cast(pl.String), "start_ns", "dur_ns").collect()
        kernels = slices.filter(kind="kernel").with_columns(pl.col("start_ns") - shift)
        drawn = pl.DataFrame(
            [msgspec.structs.asdict(each) for each in track.slices if each.kind == "kernel"]
        ).with_columns(pl.col("start_ns") + picture.start_ns)
        moments = (picture.start_ns, picture.start_ns + picture.dur_ns)
        wrong = [at for at in range(1, 200) if _covered(kernels, *moments, at) != _covered(drawn, *moments, at)]
        assert len(wrong) <= 4, wrong  # edges and gaps that no screen shows


def test_the_proof_is_the_longest_communication_of_an_accused_rank(run: Run) -> None:
    (picture,) = rank_pictures(run.store, [finding("slow_link", [1, 2])])
    accused = [track for track in picture.tracks if track.name.startswith("▸")]
    longest = max(each.dur_ns for track in accused for each in track.slices if each.kind == "collective")
    assert picture.proof_end_ns - picture.proof_start_ns == pytest.approx(longest, rel=0.02)


def test_ranks_that_compute_longer_than_the_others_are_marked_where_they_compute(tmp_path: Path) -> None:
    slow = FaultEntry(kind="slow_rank", cause="compute", ranks=(2,), strength=0.5)
    simulate(small(plan=Plan(dp=4), faults=(slow,)), tmp_path / "run")
    (picture,) = rank_pictures(
        stepscope.load(tmp_path / "run", progress=False).store, [finding("stage_imbalance", [2])]
    )
    (accused,) = [track for track in picture.tracks if track.name.startswith("▸")]
    longest = max(each.dur_ns for each in accused.slices if each.kind == "kernel")
    assert picture.proof_end_ns - picture.proof_start_ns == pytest.approx(longest, rel=0.02)


def test_findings_of_one_rank_and_wrong_clocks_have_none(run: Run) -> None:
    assert rank_pictures(run.store, [finding("host_bound", [0]), finding("clock_skew", [1])]) == []


def test_of_many_ranks_some_are_shown(tmp_path: Path) -> None:
    simulate(small(plan=Plan(dp=32), steps=2), tmp_path / "run", detail="steps")
    run = stepscope.load(tmp_path / "run", progress=False)
    (picture,) = rank_pictures(run.store, [finding("stage_imbalance", list(range(16)))])
    assert len(picture.tracks) == 12
    assert sum(track.name.startswith("▸") for track in picture.tracks) == 6
