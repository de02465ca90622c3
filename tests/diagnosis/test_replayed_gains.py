"""Gains from the replay against the truth of simulated runs: the same job, run again without the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.diagnosis.diagnose import work_out
from stepscope.simulate.scenario_files import of_table
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import open_store


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("data_starved", "processing"),
        ("host_bound", "dispatch"),
        ("sync_stall", "synchronisation"),
        ("gc_pause", "garbage_collection"),
        ("exposed_communication", "transfer"),
        ("slow_rank", "compute"),
        ("slow_rank", "host"),
    ],
)
def test_a_gain_is_what_the_job_saves_without_the_fault(tmp_path: Path, kind: str, cause: str) -> None:
    ranks = {"slow_rank": 3, "exposed_communication": 2}.get(kind, 1)
    scenario = {"extends": "healthy", "name": kind, "steps": 6, "plan": {"dp": ranks}, "workload": {"layers": 3}}
    scenario["faults"] = [{"kind": kind, "cause": cause, "strength": "clear"}]
    simulated = simulate(of_table(scenario, kind), tmp_path / "run")
    store = open_store(simulated.directory)
    assert store is not None
    (finding,) = (each for each in work_out(store).findings if each.kind == kind)
    assert finding.gain_method == "replay"
    assert finding.gain_share == pytest.approx(simulated.truth["faults"][0]["gain_share"], rel=0.1)
