"""The documented samples run with only the import changed: PyTorch. MindSpore's are in test_mindspore.py."""

from __future__ import annotations

import csv
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.profiler.handover import parsing
from support.limits import HANGS_AFTER_S

_EXAMPLES = Path(__file__).parents[2] / "examples"
_SOURCE = str(Path(stepscope.__file__).parents[1])
#: As the documents have it, but for the path; AicoreNone is their spelling.
OPTIONS = {
    "start": True,
    "activities": ["CPU", "NPU"],
    "with_stack": True,
    "aic_metrics": "AicoreNone",
    "l2_cache": False,
    "profiler_level": "Level0",
}


def steps_of(kernel_details: Path) -> dict[str, int]:
    """Kernels by step; the column's name differs between the frameworks."""
    with kernel_details.open(newline="") as file:
        rows = list(csv.DictReader(file))
    (column,) = [name for name in rows[0] if name.lower() == "step id"]
    found: dict[str, int] = {}
    for row in rows:
        found[row[column]] = found.get(row[column], 0) + 1
    return found


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs a sample in this process and returns the windows that it had parsed, which happens in one go at the end."""
    torch = pytest.importorskip("torch")
    assert torch is not None
    handed: list[Path] = []
    monkeypatch.setattr(parsing, "parse", lambda directory, **how: handed.append(directory))
    monkeypatch.syspath_prepend(str(_EXAMPLES / "pytorch"))

    def sample(name: str) -> list[Path]:
        sys.modules.pop("training", None)
        monkeypatch.setattr(sys, "argv", [name, str(tmp_path)])
        handed.clear()
        runpy.run_path(str(_EXAMPLES / "pytorch" / f"{name}.py"), run_name="__main__")
        sys.modules.pop("training", None)
        return list(handed)

    return sample


def _analyse(directory: Path) -> None:
    from stepscope.cli.analyse import parse_window

    assert parse_window(directory, None, True, None)["error"] is None


def test_the_loop_with_a_schedule_records_steps_4_and_5_and_no_other(run: Any) -> None:
    (window,) = run("for_loop")
    _analyse(window)
    found = steps_of(window / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    assert set(found) == {"4", "5"}
    assert found["4"] == found["5"] > 5


def test_the_callback_records_its_three_steps(run: Any) -> None:
    (window,) = run("callback")
    assert stepscope.load(window).table("steps").collect().select("step", "incomplete").rows() == [
        (0, False),
        (1, False),
        (2, False),
    ]


def test_the_older_callback_finds_its_three_steps_from_the_optimizer(run: Any, said: list[str]) -> None:
    (window,) = run("callback_old")
    loaded = stepscope.load(window)
    assert loaded.table("steps").collect().height == 3
    assert loaded.table("steps").collect()["marks_from"].unique().to_list() == ["optimizer_step"]
    assert [text for text in said if "outdated" not in text] == []


def test_the_dynamic_sample_changed_live_gives_both_windows(run: Any) -> None:
    windows = run("dynamic")
    assert [window.parent.name for window in windows] == ["rank0_start2_stop5", "rank0_start8_stop10"]
    for window, expected in zip(windows, ({"2", "3", "4", "5"}, {"8", "9", "10"}), strict=True):
        _analyse(window)
        assert set(steps_of(window / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")) == expected


def test_the_environment_sample_records_the_whole_run_and_says_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    options = {**OPTIONS, "output_path": str(tmp_path / "out")}
    environment = {**os.environ, "PYTHONPATH": _SOURCE, "MS_PROFILER_OPTIONS": json.dumps(options)}
    script = _EXAMPLES / "pytorch" / "environment.py"
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    (window,) = (tmp_path / "out").iterdir()
    assert (window / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").is_file(), done.stderr
    run = stepscope.load(window)
    assert run.table("steps").collect().height == 8
    assert run.sql("SELECT count(*) AS n FROM slices WHERE name = 'aten::cross_entropy_loss'")["n"][0] == 8


def test_the_offline_sample_parses_what_was_recorded_again_and_again(run: Any, tmp_path: Path) -> None:
    (window,) = run("for_loop")
    assert not (window / "ASCEND_PROFILER_OUTPUT").exists()
    command = [sys.executable, str(_EXAMPLES / "offline.py"), str(tmp_path)]
    texts = []
    for _ in range(2):
        subprocess.run(
            command, env={**os.environ, "PYTHONPATH": _SOURCE}, check=True, capture_output=True, timeout=HANGS_AFTER_S
        )
        texts.append((window / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").read_text())
    assert texts[0] == texts[1]
