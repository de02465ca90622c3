"""Clocks of simulated hosts are recovered: in the store, and in files that are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope import deliver
from stepscope.run import Run
from stepscope.simulate.scenario import FaultEntry, Host, Plan, Scenario
from stepscope.simulate.writing import simulate
from support.scenarios import small

#: Two hosts with two stages: they meet in the reduction of one number at the end of each step.
TWO_HOSTS: dict[str, Any] = {"plan": Plan(dp=2, pp=2, micro_batches=2), "host": Host(ranks=2), "steps": 44}


def written(scenario: Scenario, folder: Path, form: str = "store") -> tuple[Run, dict[str, dict[str, int]]]:
    out = folder / form
    simulate(scenario, out, form=form, detail="steps" if form == "store" else "full")
    clocks = json.loads((out / "truth.json").read_text("utf-8"))["clocks"]
    return stepscope.load(out, store=folder / "cache"), {each["host"]: each for each in clocks}


def worst_error_us(run: Run, truth: dict[str, dict[str, int]]) -> float:
    """How far the run's clock is from true time, at the first and last moment of any rank, apart from its reference."""
    ranks = run.table("ranks").sort("rank").collect()
    epoch = 1_767_225_600_000_000_000
    worst = 0.0
    for row in ranks.iter_rows(named=True):
        clock = truth[row["host"]]
        for shown in (row["first_ns"], row["last_ns"]):
            late = clock["offset_ns"] + (shown - epoch) * clock["drift_ppb"] / 1e9
            drift = (shown - row["first_ns"]) * (row["clock_drift_ppb"] or 0) / 1e9
            worst = max(worst, abs((row["clock_offset_ns"] or 0) + drift + late) / 1000)
    return worst


@pytest.mark.parametrize("noise", ["quiet", "wide"])
@pytest.mark.parametrize("seed", [1, 2])
def test_offsets_are_recovered_within_20_us(noise: str, seed: int, tmp_path: Path) -> None:
    run, truth = written(small(**TWO_HOSTS, noise=noise, seed=seed), tmp_path)

    assert abs(truth["host001"]["offset_ns"]) > 100_000
    assert worst_error_us(run, truth) <= 20
    # The reference is the first host, whose clock is right; the error that is told is honest.
    told = run.table("ranks").filter(pl.col("host").cast(pl.String) == "host001").collect()["clock_error_ns"]
    assert worst_error_us(run, truth) <= told.max() / 1000 <= 20  # type: ignore[operator]


def test_a_clock_that_is_far_off_is_recovered_too(tmp_path: Path) -> None:
    run, truth = written(small(**TWO_HOSTS, faults=(FaultEntry(kind="clock_skew"),)), tmp_path)

    assert abs(truth["host001"]["offset_ns"]) > 200_000_000
    assert worst_error_us(run, truth) <= 20


def test_so_are_those_of_recorded_files(tmp_path: Path) -> None:
    run, truth = written(small(**TWO_HOSTS | {"steps": 6}), tmp_path, "kineto")

    assert worst_error_us(run, truth) <= 20
    (reference, other) = run.communication().clocks
    assert (reference.host, reference.state, reference.ranks) == ("host000", "reference", [0, 1])
    assert (other.host, other.state, other.ranks) == ("host001", "aligned", [2, 3])
    assert other.offset_us == pytest.approx(-truth["host001"]["offset_ns"] / 1000, abs=20)
    assert "clocks_aligned" in [note.code for note in run.notes]


def test_ranks_of_one_exported_file_stand_on_one_clock(tmp_path: Path) -> None:
    run, truth = written(small(**TWO_HOSTS | {"steps": 6}, faults=(FaultEntry(kind="clock_skew"),)), tmp_path)
    (file,) = deliver.export(run.store, "chrome", tmp_path / "all.json", captures=[], merge=True)

    events = json.loads(file.read_text("utf-8"))["traceEvents"]
    process_rank = {
        event["pid"]: int(event["args"]["name"].split(":")[0].removeprefix("rank "))
        for event in events
        if event["name"] == "process_name"
    }
    ends: dict[int, float] = {}
    for event in events:
        if event["ph"] == "X" and "AllReduce" in event["name"]:
            rank = process_rank[event["pid"]]
            ends[rank] = max(ends.get(rank, 0.0), event["ts"] + event["dur"])  # of the last call, in which all meet
    assert len(ends) == 4
    assert max(ends.values()) - min(ends.values()) <= 50, truth
