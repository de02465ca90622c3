"""System calls of the profiler fail in turn in a real MindSpore loop: losses, output and exit code stay as without it.

Some here, all of them with ``make soak``. How many there are stands in docs/reliability.md.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import stepscope
from support.limits import HANGS_AFTER_S

_JOB = Path(__file__).with_name("mindspore_fault_job.py")
_ROOT = _JOB.parents[2]
_PYTHON = _ROOT / ".venv-mindspore" / "bin" / "python"
_PATHS = (_JOB.parents[1], Path(stepscope.__file__).parents[1])

pytestmark = pytest.mark.skipif(not _PYTHON.exists(), reason="needs an environment with MindSpore")


def test_some_failing_calls_leave_the_training_as_it_is(tmp_path: Path) -> None:
    _holds(tmp_path, "once", first=7, every=41)


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["once", "from"])
def test_every_failing_call_leaves_the_training_as_it_is(tmp_path: Path, mode: str) -> None:
    _holds(tmp_path, mode, first=1, every=1)


def _holds(folder: Path, mode: str, first: int, every: int) -> None:
    done = subprocess.run(
        [str(_PYTHON), str(_JOB), str(folder / "job"), mode, str(first), str(every)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _PATHS)), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S * 40,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"{mode}: {told['tried']} of {told['calls']} calls")
    assert told["losses"] == 6
    assert told["calls"] > 100
    assert told["tried"] > 1
    assert told["wrong"] == []
