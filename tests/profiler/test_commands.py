"""The commands around recording: profile, analyse, profiler-zip."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import stepscope
from stepscope.cli import app
from stepscope.cli.analyse import analyse, parse_window
from stepscope.cli.profile import environment, taken_over
from stepscope.cli.profiler_zip import write_zip
from stepscope.errors import NoAnswerError, UsageError
from stepscope.profiler import profile, schedule

from .test_shipping import EVERYTHING, OLD_PYTHON


def test_the_zip_is_all_that_a_training_machine_needs(tmp_path: Path) -> None:
    archive = tmp_path / "profiler.zip"
    write_zip(archive)
    first = archive.read_bytes()
    write_zip(archive)
    assert archive.read_bytes() == first, "the same sources give the same file"
    assert archive.stat().st_size < 200_000
    listed = zipfile.ZipFile(archive).namelist()
    top = {name.removeprefix("stepscope/").split("/")[0] for name in listed}
    assert top == {"__init__.py", "version.py", "layout", "profiler", "sitecustomize.py"}
    script = tmp_path / "job.py"
    script.write_text(EVERYTHING)
    for python in filter(None, (sys.executable, OLD_PYTHON)):
        done = subprocess.run(
            [python, "-S", "-W", "always", str(script), str(tmp_path / "out")],
            env={"PYTHONPATH": str(archive), "STEPSCOPE_LANG": "en"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "stepscope analyse" in done.stderr


STAND_IN = """
import torch
for _ in range(40):
    torch.step()
"""
#: What the profiler asks of PyTorch, on a Python without it: to be told after each step.
TORCH = """
from stepscope.profiler.backends.plain import PlainBackend
hooks = []
def step():
    for hook in hooks:
        hook(0)
def watch(backend, on_step):
    hooks.append(on_step)
    return lambda: None
PlainBackend.watch_optimizer = watch
"""


@pytest.mark.parametrize(
    ("variable", "options", "steps"),
    [
        ("STEPSCOPE_PROFILE", {"analyse": False}, list(range(6, 26))),
        ("STEPSCOPE_PROFILE", {"analyse": False, "schedule": {"active": 2, "repeat": 1}}, [0, 1]),
        ("MS_PROFILER_OPTIONS", {"start": True, "analyse": False}, []),
    ],
)
def test_the_zip_and_a_variable_record_a_script_that_knows_nothing_of_it(
    variable: str, options: dict[str, Any], steps: list[int], tmp_path: Path
) -> None:
    archive, folder = tmp_path / "profiler.zip", tmp_path / "job"
    write_zip(archive)
    folder.mkdir()
    (folder / "torch.py").write_text(TORCH)
    (folder / "train.py").write_text(STAND_IN)
    options = {**options, "output_path": str(tmp_path / "out")}
    for python in filter(None, (sys.executable, OLD_PYTHON)):
        done = subprocess.run(
            [python, "train.py"],
            env={
                "PYTHONPATH": f"{archive}:{folder}",
                variable: json.dumps(options),
                "STEPSCOPE_BACKEND": "plain",
                "STEPSCOPE_LANG": "en",
            },
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Next: stepscope diagnose" in done.stderr
        assert ("Records" in done.stderr) is (variable == "STEPSCOPE_PROFILE"), "a window is said before it begins"
        (window,) = (tmp_path / "out").iterdir()
        lines = [json.loads(line) for line in (window / "STEPSCOPE" / "steps.jsonl").read_text().splitlines()]
        assert [line["step"] for line in lines if line["event"] == "end"] == steps
        shutil.rmtree(tmp_path / "out")


def test_windows_are_parsed_and_a_broken_one_does_not_stop_the_others(
    tmp_path: Path, plain: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with profile(schedule=schedule(wait=0, active=1, repeat=2), output_path=str(tmp_path / "out")) as prof:
        for _ in range(3):
            prof.step()
    good, bad = (window.directory for window in prof.windows)
    (bad / "STEPSCOPE" / "trace.json").write_text("not a trace")
    with pytest.raises(NoAnswerError, match="1 of 2"):
        analyse([tmp_path / "out", tmp_path / "out" / ".." / "out"], jobs=1, store=tmp_path / "store")
    shown = capsys.readouterr()
    assert good.name in shown.out
    assert bad.name in shown.err
    assert (good / "ASCEND_PROFILER_OUTPUT").is_dir()


def test_a_place_without_captures_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match="No recording"):
        analyse([tmp_path])


def test_redundant_vendor_data_goes_unless_kept(tmp_path: Path, plain: None) -> None:
    with profile(output_path=str(tmp_path / "out")) as prof:
        pass
    directory = prof.windows[0].directory
    for place in ("mindstudio_profiler_output", "host/sqlite", "host/data"):
        (directory / "PROF_1_2_3" / place).mkdir(parents=True)
    assert parse_window(directory, None, True, tmp_path / "store")["error"] is None
    assert (directory / "PROF_1_2_3" / "host" / "sqlite").is_dir()
    parse_window(directory, None, False, tmp_path / "store")
    assert sorted(str(place.relative_to(directory / "PROF_1_2_3")) for place in directory.glob("PROF_1_2_3/*/*")) == [
        "host/data"
    ]


def test_mindspores_own_options_are_taken_over_and_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_PROFILER_OPTIONS", '{"start": true, "output_path": "x", "aic_metrics": "AicoreNone"}')
    options = taken_over('{"start": true, "output_path": "x", "aic_metrics": "AicoreNone"}')
    assert options == {"output_path": "x", "aic_metrics": "AicoreNone"}
    child = environment(options)
    assert "MS_PROFILER_OPTIONS" not in child
    assert json.loads(child["STEPSCOPE_PROFILE"]) == options
    assert (Path(child["PYTHONPATH"].split(":")[0]) / "sitecustomize.py").is_file()


@pytest.mark.parametrize("text", ["{", "[]", "3"])
def test_malformed_options_are_an_error_where_somebody_reads_it(text: str) -> None:
    with pytest.raises(UsageError, match="MS_PROFILER_OPTIONS"):
        taken_over(text)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What ``stepscope profile`` would become: options that its command is given."""
    options: list[Any] = []

    def become(name: str, command: list[str], environment: dict[str, str]) -> None:
        options.append(json.loads(environment["STEPSCOPE_PROFILE"]))

    monkeypatch.setattr("os.execvpe", become)
    return options


def _profile(*words: str) -> int:
    result = CliRunner().invoke(app, ["profile", *words])
    if isinstance(result.exception, UsageError):
        raise result.exception
    return result.exit_code


def test_what_mindspores_options_say_counts_unless_an_option_says_otherwise(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    _profile("--", sys.executable)
    monkeypatch.setenv("MS_PROFILER_OPTIONS", '{"start": true, "output_path": "theirs", "analyse": false}')
    _profile("--", sys.executable)
    _profile("--out", "ours", "--parse", "--", sys.executable)
    assert [(one["output_path"], one["analyse"]) for one in started] == [
        (str(tmp_path / "data"), True),
        (str(tmp_path / "theirs"), False),
        (str(tmp_path / "ours"), True),
    ]


DEFAULT = {"skip_first": 5, "wait": 0, "warmup": 1, "active": 20, "repeat": 1}


@pytest.mark.parametrize("option", ["--skip-first", "--wait", "--warmup", "--active", "--repeat"])
def test_a_number_moves_the_default_window(option: str, started: list[Any]) -> None:
    assert _profile(option, "2", "--", sys.executable) == 0
    assert started[0]["schedule"] == {**DEFAULT, option.strip("-").replace("-", "_"): 2}
    assert started[0]["limits"] == {"seconds": 60, "megabytes": 200}


@pytest.mark.parametrize("words", [["--all"], ["--active", "0"]])
def test_the_whole_run_is_a_choice(words: list[str], started: list[Any]) -> None:
    assert _profile(*words, "--", sys.executable) == 0
    assert started[0]["all"] is True
    assert not {"schedule", "limits"} & set(started[0])
    with pytest.raises(UsageError, match="--skip-first would choose a part"):
        _profile(*words, "--skip-first", "1", "--", sys.executable)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Records 20 steps after the first 6"),
        (["--seconds", "2.5", "--megabytes", "30"], "stops earlier after 2.5 s or 30 MB"),
        (["--repeat", "3", "--wait", "2"], "Records 3 windows of 20 steps, the first one after 8 steps"),
        (["--all"], "Records the whole run"),
    ],
)
def test_what_will_be_recorded_is_noted_before_it_begins(words: list[str], said: str, started: list[Any]) -> None:
    result = CliRunner().invoke(app, ["profile", *words, "--", sys.executable])
    assert said in result.stderr
    assert len(started) == 1


def test_a_script_that_the_system_cannot_start_is_an_error_of_the_call(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo without a first line\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match="Exec format error"):
        _profile("--", str(script))


def test_a_job_keeps_its_own_packages(tmp_path: Path) -> None:
    """Stepscope's installation has a package that the job's Python has in another version."""
    for place, version in (("stepscope_lives_here", "ours"), ("job", "theirs")):
        (tmp_path / place / "shared_package").mkdir(parents=True)
        (tmp_path / place / "shared_package" / "__init__.py").write_text(f"version = {version!r}\n")
    shutil.copytree(Path(stepscope.__file__).parent / "profiler", tmp_path / "stepscope_lives_here/stepscope/profiler")
    (tmp_path / "stepscope_lives_here/stepscope/__init__.py").write_text("mine = True\n")
    child = environment({})
    child.pop("STEPSCOPE_PROFILE")
    child["PYTHONPATH"] = str(tmp_path / "stepscope_lives_here/stepscope/profiler/starting/bootstrap")
    script = f"import sys; sys.path.append({str(tmp_path / 'job')!r})\n"
    script += "import shared_package, stepscope; print(shared_package.version, stepscope.mine)"
    done: Any = subprocess.run([sys.executable, "-c", script], env=child, capture_output=True, text=True, check=True)
    assert done.stdout == "theirs True\n"
    assert environment({})["PYTHONPATH"].split(":")[0].endswith("bootstrap")


def test_the_start_up_file_hands_on_to_the_machines_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['MINE'] = 'ran'\n")
    child = environment({})
    child.pop("STEPSCOPE_PROFILE")
    child["PYTHONPATH"] += f":{tmp_path}"
    script = "import os; print(os.environ['MINE'])"
    done: Any = subprocess.run([sys.executable, "-c", script], env=child, capture_output=True, text=True, check=True)
    assert done.stdout == "ran\n"
