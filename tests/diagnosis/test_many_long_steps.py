"""Steps that are long by accident, in simulated jobs whose truth says which those are."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Diagnosis
from stepscope.simulate.scenario_files import of_table
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import open_store

#: Of 24 steps an eighth, a quarter, a third and two fifths, without a rhythm.
_LONG = ([6, 13, 15], [3, 6, 9, 12, 15, 16, 22], [5, 6, 9, 14, 17, 18, 23, 24], [4, 5, 7, 9, 10, 15, 16, 20, 22, 23])


def _diagnosed(folder: Path, noise: str, faults: list[dict[str, object]]) -> tuple[Diagnosis, list[dict[str, object]]]:
    scenario = {"extends": "healthy", "plan": {"dp": 1}, "steps": 24, "seed": 4, "noise": noise, "faults": faults}
    simulated = simulate(of_table(scenario, "jitter"), folder / "run")
    store = open_store(simulated.directory)
    assert store is not None
    return work_out(store), simulated.truth["faults"]


@pytest.mark.parametrize("long", _LONG, ids=len)
def test_long_steps_are_told_however_many_they_are(tmp_path: Path, long: list[int]) -> None:
    found, (truth,) = _diagnosed(tmp_path, "quiet", [{"kind": "step_jitter", "strength": 0.1, "steps": long}])
    (finding,) = [each for each in found.findings if each.kind == "step_jitter"]
    assert finding.steps == truth["steps"]
    assert finding.gain_share == pytest.approx(truth["gain_share"], rel=0.1)


def test_steps_that_scatter_are_no_long_steps(tmp_path: Path) -> None:
    found, _ = _diagnosed(tmp_path, "wide", [])
    assert [each for each in found.findings if each.kind == "step_jitter"] == []
