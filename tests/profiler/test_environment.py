"""Profiling from outside: MS_PROFILER_OPTIONS and the launcher. A stand-in for a framework keeps most of this fast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.cli.profile import environment as launcher_environment
from stepscope.profiler.starting import environment
from support.limits import HANGS_AFTER_S

_SOURCE = str(Path(stepscope.__file__).parents[1])


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with a module ``torch`` that is empty, and scripts that import it."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "torch.py").write_text("complete = True\n")
    (folder / "ours_first.py").write_text("import stepscope.profiler\nimport torch\nassert torch.complete\n")
    (folder / "torch_first.py").write_text("import torch\nimport stepscope.profiler\n")
    (folder / "without_us.py").write_text("import torch\n")
    (folder / "no_framework.py").write_text("import json\n")
    (folder / "torchrun").write_text("import torch\n")
    return folder


def _run(folder: Path, *command: str, **extra: str) -> str:
    """Errors of a script, which must end well."""
    names = {"STEPSCOPE_BACKEND": "plain", "STEPSCOPE_LANG": "en"}
    paths = os.pathsep.join(path for path in (extra.pop("PYTHONPATH", ""), _SOURCE, str(folder)) if path)
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **names, **extra, "PYTHONPATH": paths},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def _windows(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if (path / "stepscope.json").is_file()] if folder.is_dir() else []


def _options(out: Path, **further: Any) -> str:
    return json.dumps({"start": True, "output_path": str(out), "analyse": False, **further})


@pytest.mark.parametrize("script", ["ours_first.py", "torch_first.py"])
def test_a_script_that_imports_us_is_recorded_as_a_whole(script: str, stand_in: Path, tmp_path: Path) -> None:
    errors = _run(stand_in, script, MS_PROFILER_OPTIONS=_options(tmp_path / "out", aic_metrics="AicoreNone"))
    (window,) = _windows(tmp_path / "out")
    said = json.loads((window / "stepscope.json").read_text())
    assert (said["state"], said["incomplete"]) == ("complete", None)
    assert errors.count("StepscopeWarning") == 1, "the stand-in has no data loader; nothing else is wrong"
    assert "torch_dataloader" in errors


@pytest.mark.parametrize("text", ['{"start": false}', "{}", '{"start": "true"}'])
def test_without_start_nothing_happens(text: str, stand_in: Path) -> None:
    assert _run(stand_in, "ours_first.py", MS_PROFILER_OPTIONS=text) == ""
    assert not _windows(stand_in / "data")


@pytest.mark.parametrize("text", ["{", "[]", "start"])
def test_options_that_are_no_json_cost_one_warning(text: str, stand_in: Path) -> None:
    errors = _run(stand_in, "ours_first.py", MS_PROFILER_OPTIONS=text)
    assert errors.count("MS_PROFILER_OPTIONS is not a JSON object") == 1
    assert not _windows(stand_in / "data")


def test_mindspore_does_not_see_options_that_we_took(stand_in: Path, tmp_path: Path) -> None:
    (stand_in / "look.py").write_text(
        "import os, stepscope.profiler\nassert 'MS_PROFILER_OPTIONS' not in os.environ\nimport torch\n"
    )
    _run(stand_in, "look.py", MS_PROFILER_OPTIONS=_options(tmp_path / "out"))
    assert len(_windows(tmp_path / "out")) == 1


def test_a_script_without_framework_can_start_by_itself(stand_in: Path, tmp_path: Path) -> None:
    (stand_in / "itself.py").write_text(
        "from stepscope.profiler import EnvProfiler, mstx\n"
        "EnvProfiler.init_profiler()\nEnvProfiler.init_profiler()\nmstx.mark('here')\nEnvProfiler().analyse()\n"
    )
    _run(stand_in, "itself.py", MS_PROFILER_OPTIONS=_options(tmp_path / "out"))
    (window,) = _windows(tmp_path / "out")
    assert (window / "STEPSCOPE" / "marks.jsonl").read_text().count("here") == 1


def test_our_own_commands_are_not_recorded(stand_in: Path, tmp_path: Path) -> None:
    _run(stand_in, "-m", "stepscope", "--version", MS_PROFILER_OPTIONS=_options(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_the_launcher_needs_no_import_and_leaves_helpers_alone(stand_in: Path, tmp_path: Path) -> None:
    extra = launcher_environment({"output_path": str(tmp_path / "out"), "analyse": False, "all": True})
    for command in (
        ["no_framework.py"],
        ["torchrun", "without_us.py"],
        ["-c", "import torch, sys\nfrom multiprocessing.spawn import spawn_main", "--multiprocessing-fork"],
    ):
        _run(stand_in, *command, **extra)
        assert not (tmp_path / "out").exists(), command
    _run(stand_in, "without_us.py", **extra)
    assert len(_windows(tmp_path / "out")) == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["python", "train.py"], True),
        (["python", "-u", "-X", "dev", "train.py", "-m", "torchrun"], True),
        (["python", "-c", "import torch"], True),
        (["python", "-m", "train"], True),
        (["python", "-m", "torch.distributed.run", "train.py"], False),
        (["python3", "/usr/local/bin/torchrun", "train.py"], False),
        (["python", "-W", "ignore", "/bin/accelerate", "launch"], False),
        (["python", "-m", "torch._inductor.compile_worker"], False),
        (
            ["python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main()", "--multiprocessing-fork"],
            False,
        ),
        (["python", "-c", "from multiprocessing.resource_tracker import main;main(5)"], False),
        (["python"], True),
    ],
)
def test_who_may_be_a_training_script(words: list[str], expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", words)
    assert environment.trains() is expected


@pytest.mark.parametrize(("script", "said"), [("no_framework.py", True), ("without_us.py", False)])
def test_the_launcher_does_not_end_in_silence_where_nothing_was_recorded(
    script: str, said: bool, stand_in: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "stepscope", "profile", "--all", "--no-parse", "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [*command, "--", sys.executable, script],
        env={**os.environ, "STEPSCOPE_BACKEND": "plain", "STEPSCOPE_LANG": "en", "PYTHONPATH": _SOURCE},
        cwd=stand_in,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("No process of this command has recorded anything" in done.stderr) is said
    assert len(_windows(tmp_path / "out")) == (0 if said else 1)


def test_a_script_that_failed_before_its_window_is_not_told_how_to_be_recorded(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise ValueError('of the job')")
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", "profile", "-o", "out", "--", sys.executable, "train.py"],
        env={**os.environ, "STEPSCOPE_LANG": "en", "PYTHONPATH": _SOURCE},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "ValueError: of the job" in done.stderr
    assert done.stderr.rstrip().endswith("before the schedule came to a window: nothing was recorded.")
    assert "No process of this command" not in done.stderr


TRAINING = """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(40, 8)), batch_size=4, num_workers=1)
if __name__ == "__main__":
    for (batch,) in loader:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
"""


def test_the_command_records_scheduled_steps_of_an_unchanged_script(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(TRAINING)
    command = ["-m", "stepscope", "profile", "--out", str(tmp_path / "out"), "--no-parse"]
    command += ["--skip-first", "2", "--warmup", "1", "--active", "3", "--", sys.executable, "train.py"]
    names = {**os.environ, "PYTHONPATH": _SOURCE, "STEPSCOPE_LANG": "en"}
    done = subprocess.run(
        [sys.executable, *command],
        env=names,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (window,) = _windows(tmp_path / "out")
    before, after = (line for line in done.stderr.splitlines() if "stepscope" in line)
    assert "Records 3 steps after the first 3" in before
    assert after.startswith("[stepscope] 3 steps recorded in")
    assert after.endswith(f"{window}  Next: stepscope diagnose {window}")
    run = stepscope.load(window)
    assert run.table("steps").collect()["step"].to_list() == [3, 4, 5]
    linear = run.table("slices").filter(pl.col("name") == "aten::addmm").collect()
    assert linear["step"].to_list() == [3, 4, 5]


SPAWNING = """
import torch

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        return torch.ones(8)

def train(rank):
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=1):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

if __name__ == "__main__":
    torch.multiprocessing.spawn(train, nprocs=1)
"""


def test_a_spawned_rank_is_recorded_from_its_first_optimizer_step_on(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(SPAWNING)
    plan = {"skip_first": 2, "active": 3, "repeat": 1}
    extra = launcher_environment({"output_path": str(tmp_path / "out"), "analyse": False, "schedule": plan})
    done = subprocess.run(
        [sys.executable, "train.py"], env={**os.environ, **extra}, cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (window,) = _windows(tmp_path / "out")
    assert stepscope.load(window).table("steps").collect()["step"].to_list() == [2, 3, 4]


def test_a_process_that_trains_nothing_leaves_no_window(stand_in: Path, tmp_path: Path) -> None:
    plan = {"active": 3, "repeat": 1}
    extra = launcher_environment({"output_path": str(tmp_path / "out"), "analyse": False, "schedule": plan})
    _run(stand_in, "without_us.py", **extra)
    assert not _windows(tmp_path / "out")


def test_what_is_not_known_in_the_options_is_named(stand_in: Path, tmp_path: Path) -> None:
    options = _options(tmp_path / "out", schedule={"zzz": 2, "active": 2})
    errors = _run(stand_in, "ours_first.py", MS_PROFILER_OPTIONS=options, STEPSCOPE_BACKEND="foo")
    assert "There is no parameter schedule.zzz" in errors
    assert "STEPSCOPE_BACKEND=foo" in errors
