"""Real Lightning and real transformers, in an environment of their own: what each callback counts as a step, and that
the launcher records a script in a Python which has no analysis side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.cli.profiler_zip import write_zip
from support.limits import HANGS_AFTER_S

_ROOT = Path(__file__).parents[2]
_SOURCE = str(Path(stepscope.__file__).parents[1])
_PYTHON = Path(os.environ.get("STEPSCOPE_TRAINERS_PYTHON", _ROOT / ".venv-trainers" / "bin" / "python"))
_JOBS = str(Path(__file__).parent / "trainer_jobs.py")

Jobs = Callable[[str], tuple[dict[str, Any], Path]]

pytestmark = pytest.mark.skipif(not _PYTHON.exists(), reason="needs Lightning and transformers in .venv-trainers")


def _run(*words: str, before: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "STEPSCOPE_LANG": "en"}
    return subprocess.run(
        [*before, str(_PYTHON), _JOBS, *words],
        env={**os.environ, **quiet, "PYTHONPATH": _SOURCE, **environment},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """What all ways of a trainer's callback told, and where their folders are; the trainer is imported once."""

    @cache
    def of_trainer(kind: str) -> tuple[dict[str, Any], Path]:
        folder = tmp_path_factory.mktemp(kind)
        ways = ("range", "monitor", "plan", *(["failing"] if kind == "lightning" else []))
        done = _run(kind, ",".join(ways), str(folder))
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told, folder

    return of_trainer


def _counted(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    assert done.returncode == 0, done.stderr
    counted: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counted


def _steps(folder: Path) -> list[list[int]]:
    windows = []
    for path in sorted(folder.rglob("steps.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        windows.append([line["step"] for line in lines if line["event"] == "end"])
    return windows


def _calls_of_the_layer(folder: Path) -> dict[int, int]:
    """How often the only layer was called in each step."""
    run = stepscope.load(folder / "out")
    rows = run.table("slices").filter(pl.col("name") == "aten::linear").collect()
    return dict(sorted(rows.group_by("step").len().iter_rows()))


@pytest.mark.parametrize(
    ("how", "steps"), [("range", [[3, 4, 5]]), ("monitor", [[3, 4, 5]]), ("plan", [[1, 2], [4, 5]])]
)
def test_a_step_of_lightning_is_a_batch(how: str, steps: list[list[int]], jobs: Jobs) -> None:
    told, folder = jobs("lightning")
    assert told[how]["counted"] == {"batches": 12, "optimizer_steps": 6}, told[how]["errors"]
    assert _steps(folder / how) == steps
    if how == "range":
        # Batch 4 is the last of its epoch: the validation behind it, two batches, belongs to the step of batch 5,
        # which begins where the one before ends.
        assert _calls_of_the_layer(folder / how) == {3: 1, 4: 1, 5: 3}


@pytest.mark.parametrize(
    ("how", "steps"), [("range", [[3, 4, 5]]), ("monitor", [[3, 4, 5]]), ("plan", [[1, 2], [4, 5]])]
)
def test_a_step_of_transformers_is_an_optimizer_step(how: str, steps: list[list[int]], jobs: Jobs) -> None:
    told, folder = jobs("transformers")
    assert told[how]["counted"] == {"batches": 16, "optimizer_steps": 8}, told[how]["errors"]
    assert _steps(folder / how) == steps
    if how == "range":
        assert _calls_of_the_layer(folder / how) == {3: 2, 4: 2, 5: 2}, "two batches are one step"


def test_lightning_keeps_what_was_recorded_when_the_training_fails(jobs: Jobs) -> None:
    told, folder = jobs("lightning")
    assert told["failing"]["code"] == 1
    assert told["failing"]["errors"].rstrip().endswith("ZeroDivisionError")
    assert _steps(folder / "failing") == [[3]]
    assert "failed or was interrupted" in told["failing"]["errors"]


def test_the_launcher_parses_what_a_python_without_analysis_side_recorded(tmp_path: Path) -> None:
    before = (sys.executable, "-m", "stepscope", "profile", "-o", str(tmp_path / "out"), "--")
    done = _run("transformers", "long", str(tmp_path / "hf"), before=before)
    assert _counted(done) == {"batches": 80, "optimizer_steps": 40}
    (window,) = (tmp_path / "out").iterdir()
    assert _steps(tmp_path) == [list(range(6, 26))]
    parsed = window / "ASCEND_PROFILER_OUTPUT"
    assert {"trace_view.json", "step_trace_time.csv", "kernel_details.csv"} <= {file.name for file in parsed.iterdir()}
    assert f"Next: stepscope diagnose {window}" in done.stderr


def test_the_zip_and_a_variable_are_enough_with_real_pytorch(tmp_path: Path) -> None:
    write_zip(tmp_path / "profiler.zip")
    options: dict[str, Any] = {"output_path": str(tmp_path / "out")}
    done = _run(
        "transformers",
        "long",
        str(tmp_path / "hf"),
        PYTHONPATH=str(tmp_path / "profiler.zip"),
        STEPSCOPE_PROFILE=json.dumps(options),
    )
    assert _counted(done)["optimizer_steps"] == 40
    assert _steps(tmp_path) == [list(range(6, 26))]
    assert "The analysis side of Stepscope is not installed here" in done.stderr
    assert _calls_of_the_layer(tmp_path) == dict.fromkeys(range(6, 26), 2)
