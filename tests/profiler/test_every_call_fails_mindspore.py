"""System calls of the profiler fail in turn in a real MindSpore loop: losses, output and exit code stay as without it.

A handful here, all of them with ``make soak``. How many there are stands in docs/reliability.md.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import stepscope
from support.limits import HANGS_AFTER_S

_JOB = Path(__file__).with_name("mindspore_fault_job.py")
_ROOT = _JOB.parents[2]
_PYTHON = _ROOT / ".venv-mindspore" / "bin" / "python"
_PATHS = (_JOB.parents[1], Path(stepscope.__file__).parents[1])

pytestmark = pytest.mark.skipif(not _PYTHON.exists(), reason="needs an environment with MindSpore")


@dataclass(frozen=True)
class Ended:
    output: str
    code: int
    calls: int


def _ran(folder: Path, mode: str, number: int) -> Ended:
    folder.mkdir(parents=True)
    done = subprocess.run(
        [str(_PYTHON), str(_JOB), str(folder), mode, str(number)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _PATHS)), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    made = folder / "made"
    return Ended(done.stdout, done.returncode, int(made.read_text()) if made.exists() else 0)


@cache
def _without(folder: Path) -> Ended:
    return _ran(folder / "without", "without", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mindspore_faults")


def _losses(text: str) -> list[str]:
    """What the training says; the profiler's own lines begin with its name."""
    return [line for line in text.splitlines() if not line.startswith("[stepscope]")]


def test_a_handful_of_failing_calls_leaves_the_training_as_it_is(folder: Path) -> None:
    _sweep(folder, every=201, modes=("once",))


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["once", "from"])
def test_every_failing_call_leaves_the_training_as_it_is(folder: Path, mode: str) -> None:
    _sweep(folder, every=1, modes=(mode,))


def _sweep(folder: Path, every: int, modes: tuple[str, ...]) -> None:
    without = _without(folder)
    assert (without.code, len(_losses(without.output))) == (0, 6)
    whole = _ran(folder / f"whole_{modes}_{every}", "once", 0)
    assert whole.calls > 100
    for mode in modes:
        for number in range(7, whole.calls, every) if every > 1 else range(1, whole.calls + 1):
            ended = _ran(folder / f"{mode}_{every}_{number}", mode, number)
            assert (ended.code, _losses(ended.output)) == (without.code, _losses(without.output)), (mode, number)
    print(f"{modes}: {whole.calls} calls")
