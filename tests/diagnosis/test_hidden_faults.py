"""Faults that hide each other, in simulated jobs whose truth says what mending each of them alone would gain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Diagnosis
from stepscope.simulate.scenario_files import of_table
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import open_store


def _diagnosed(folder: Path, scenario: dict[str, Any], detail: str = "full") -> tuple[Diagnosis, dict[str, Any]]:
    simulated = simulate(of_table(scenario, "hidden"), folder / "run", detail=detail)
    store = open_store(simulated.directory)
    assert store is not None
    return work_out(store), simulated.truth


def test_a_slow_host_and_a_loader_as_slow_are_both_named_with_what_each_alone_and_both_would_gain(
    tmp_path: Path,
) -> None:
    scenario = {
        "extends": "healthy",
        "name": "hidden",
        "plan": {"dp": 6},
        "host": {"ranks": 3},
        "workload": {"layers": 3},
        "faults": [
            {"kind": "slow_host", "cause": "compute", "hosts": [1]},
            {"kind": "data_starved", "cause": "processing"},
        ],
    }
    diagnosis, truth = _diagnosed(tmp_path, scenario)
    told = {finding.kind: finding for finding in diagnosis.findings if finding.accuses}
    assert set(told) == {"slow_host", "data_starved"}
    both = 1 - truth["step_without_faults_us"] / truth["step_us"]
    for fault in truth["faults"]:
        finding = told[fault["kind"]]
        assert finding.gain_share == pytest.approx(fault["gain_share"], abs=0.02)
        assert finding.together is not None
        assert finding.together.value / truth["step_us"] == pytest.approx(both, rel=0.1)
    assert diagnosis.findings[0].kind == "slow_host"  # which can be seen
    assert "alone" in diagnosis.verdict.sentence.en


def test_a_gain_of_a_run_in_coarse_slices_is_that_of_all_its_steps(tmp_path: Path) -> None:
    """The host is ahead by a queue that holds fewer, larger pieces: what holds it up is the device all the same."""
    scenario = {
        "extends": "healthy-3d",
        "name": "coarse",
        "plan": {"dp": 4, "tp": 2, "pp": 2, "micro_batches": 32},
        "faults": [{"kind": "slow_rank", "cause": "compute", "ranks": [3]}],
    }
    diagnosis, truth = _diagnosed(tmp_path, scenario, detail="steps")
    (finding,) = (each for each in diagnosis.findings if each.kind == "slow_rank")
    assert finding.gain_share == pytest.approx(truth["faults"][0]["gain_share"], rel=0.1)
