"""Every system call of the profiler fails in turn: the training's losses, output and exit code are as without it.

A part of the cases here, all of them with ``make soak``. How many there are stands in docs/reliability.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
Case = tuple[str, str, int]


def _sweeps(folder: Path, cases: Sequence[Case], patience: int) -> dict[Case, dict[str, Any]]:
    """What each sweep told; those for which no file system can be mounted are left out."""
    possible = [case for case in cases if _is_possible(case[1], folder / "try")]
    done = subprocess.run(
        [sys.executable, str(_SWEEP), str(folder / "job"), *(",".join(map(str, case)) for case in possible)],
        env={**os.environ, "PYTHONPATH": f"{_TESTS}{os.pathsep}{_SOURCE}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S * patience,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(possible, map(json.loads, done.stdout.splitlines()), strict=True))


def _is_possible(mode: str, folder: Path) -> bool:
    if mode not in shortages.KINDS:
        return True
    try:
        with shortages.file_system_for(mode, folder):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@pytest.fixture(scope="module")
def quick_sweeps(tmp_path_factory: pytest.TempPathFactory) -> dict[Case, dict[str, Any]]:
    """All in one process: importing PyTorch takes longer than most sweeps."""
    return _sweeps(tmp_path_factory.mktemp("sweeps"), QUICK, 2 * len(QUICK))


@pytest.mark.parametrize("case", QUICK, ids=str)
def test_the_training_is_as_without_a_profiler(case: Case, quick_sweeps: dict[Case, dict[str, Any]]) -> None:
    _holds(case, quick_sweeps)


@pytest.mark.soak
@pytest.mark.parametrize("case", ALL, ids=str)
def test_the_training_is_as_without_a_profiler_in_every_case(case: Case, tmp_path: Path) -> None:
    _holds(case, _sweeps(tmp_path, [case], 40))


def _holds(case: Case, told: dict[Case, dict[str, Any]]) -> None:
    if case not in told:
        pytest.skip("needs to mount a file system")
    print(f"{case}: {told[case]['tried']} cases")
    assert told[case]["wrong"] == []
    assert told[case]["tried"] > 1
