"""A healthy job is accused of nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from stepscope.simulate.scenario_files import load_scenario, names, resized
from stepscope.simulate.writing import simulate

HEALTHY = [name for name in names() if not load_scenario(name).faults]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_has_no_warning(name: str, tmp_path: Path) -> None:
    scenario = resized(load_scenario(name), ranks=None, steps=3, seed=5)
    done = simulate(scenario, tmp_path / "run", detail="steps")

    assert done.truth["faults"] == []
    findings = stepscope.load(tmp_path / "run", progress=False).diagnose().findings
    assert [(finding.kind, finding.gain_share) for finding in findings if finding.severity != "info"] == []
