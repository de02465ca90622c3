"""Every system call of the profiler fails in turn: the training's losses, output and exit code are as without it.

A part of the cases here, all of them with ``make soak``. How many there are stands in docs/reliability.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from support import shortages
from support.limits import HANGS_AFTER_S

pytest.importorskip("torch")

_SWEEP = Path(__file__).with_name("fault_sweep.py")
_SOURCE = Path(stepscope.__file__).parents[1]
_TESTS = _SWEEP.parents[1]

WAYS = (
    "in_code",
    "whole_run",
    "in_a_thread",
    "by_launcher",
    "by_launcher_with_schedule",
    "by_trigger",
    "by_trigger_of_ranks",
)
#: Way, mode, and how many cases are left out after each.
QUICK = (
    ("in_code", "once", 31),
    ("whole_run", "from", 19),
    ("in_a_thread", "once", 53),
    ("by_launcher", "once", 29),
    ("by_launcher_with_schedule", "from", 37),
    ("by_trigger", "once", 23),
    ("by_trigger_of_ranks", "from", 31),
    ("whole_run", "inodes", 7),
    ("in_code", "space", 7),
    ("in_code", "handles", 7),
    ("by_launcher_with_schedule", "vanished", 1),
)
ALL = [(way, mode, 1) for way in WAYS for mode in ("once", "from", *shortages.KINDS)]


@pytest.mark.parametrize(
    ("way", "mode", "every"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.soak) for case in ALL)]
)
def test_the_training_is_as_without_a_profiler(way: str, mode: str, every: int, tmp_path: Path) -> None:
    if mode in shortages.KINDS:
        try:
            with shortages.file_system_for(mode, tmp_path / "try"):
                pass
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("needs to mount a file system")
    done = subprocess.run(
        [sys.executable, str(_SWEEP), way, mode, str(tmp_path / "job"), str(every)],
        env={**os.environ, "PYTHONPATH": f"{_TESTS}{os.pathsep}{_SOURCE}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S * (2 if every > 1 else 40),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["tried"] > 1
    assert told["wrong"] == []
    print(f"{way}, {mode}: {told['tried']} cases")
