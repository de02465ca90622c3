"""Signals while our code runs: what the job's handlers raise reaches the job, and the recording stays in order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.limits import HANGS_AFTER_S

pytest.importorskip("torch")

_STORM = Path(__file__).with_name("signal_storm.py")


@pytest.mark.parametrize(
    ("seed", "rounds"),
    [(1, 45), *(pytest.param(seed, 400, marks=pytest.mark.soak) for seed in range(2, 8))],
)
def test_what_an_alarm_raises_at_any_moment_is_seen_by_the_job(seed: int, rounds: int, tmp_path: Path) -> None:
    command = [sys.executable, str(_STORM), str(seed), str(rounds), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S * 4, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    # Python itself drops what is raised in a destructor; the others reach the job, every one.
    assert told["seen"] == told["raised"] - len(told["lost"])
    assert len(told["lost"]) <= told["raised"] / 50
    assert told["raised"] > rounds / 2
    assert told["operators"] == 1, "the recording after them is whole"
