"""From recorded windows to the documented files: as they end, beside the training, or later."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler import Profiler, profile, schedule, tensorboard_trace_handler
from stepscope.profiler.profiler import analyse

torch = pytest.importorskip("torch")

OUTPUT = "ASCEND_PROFILER_OUTPUT"


def _train(prof: Any, steps: int = 9) -> None:
    for _ in range(steps):
        torch.ones(20, 20).mm(torch.ones(20, 20)).sum()
        prof.step()


def _steps_in(directory: Path) -> set[str]:
    with (directory / OUTPUT / "kernel_details.csv").open(newline="") as file:
        return {row["Step Id"] for row in csv.DictReader(file)}


@pytest.fixture(autouse=True)
def _stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsers are processes of their own; what they read goes where the test ends."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_window_is_parsed_when_it_ends(tmp_path: Path, said: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=2)
    with profile(schedule=plan, on_trace_ready=tensorboard_trace_handler(str(tmp_path / "out"))) as prof:
        _train(prof)
        directory = prof.windows[0].directory
        assert (directory / OUTPUT / "trace_view.json").is_file(), "inside step(), before the training goes on"
    assert _steps_in(directory) == {"4", "5"}
    with (directory / OUTPUT / "step_trace_time.csv").open(newline="") as file:
        assert [row["Step"] for row in csv.DictReader(file)] == ["4", "5"]
    assert said == []
    *_, last = (line for line in capfd.readouterr().err.splitlines() if line.startswith("[stepscope]"))
    assert last.startswith("[stepscope] 2 steps recorded in ")
    assert last.endswith(f"{directory}  Next: stepscope diagnose {directory}")


def test_async_mode_parses_beside_the_training_and_is_waited_for(tmp_path: Path, job: Any) -> None:
    script = """
    import sys, time, torch
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler
    handler = tensorboard_trace_handler(sys.argv[1], async_mode=True)
    with profile(schedule=schedule(wait=0, active=1, repeat=1), on_trace_ready=handler) as prof:
        torch.ones(10).sum()
        began = time.monotonic()
        prof.step()
        print(time.monotonic() - began, (prof.windows[0].directory / "ASCEND_PROFILER_OUTPUT").exists())
    """
    code, output, errors = job.run(script, str(tmp_path / "out"), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert code == 0, errors
    assert output.split()[1] == "False"
    (directory,) = (tmp_path / "out").iterdir()
    assert (directory / OUTPUT / "trace_view.json").is_file()


def test_what_was_only_collected_is_analysed_later_again_and_again(tmp_path: Path, said: list[str]) -> None:
    handler = tensorboard_trace_handler(str(tmp_path / "out"), analyse_flag=False)
    with profile(schedule=schedule(wait=0, active=3, repeat=1), on_trace_ready=handler) as prof:
        _train(prof, 4)
    directory = prof.windows[0].directory
    assert not (directory / OUTPUT).exists()
    elsewhere = Path(shutil.move(directory, tmp_path / "elsewhere"))
    analyse(str(tmp_path / "elsewhere"))
    assert _steps_in(elsewhere) == {"0", "1", "2"}
    first = (elsewhere / OUTPUT / "kernel_details.csv").read_bytes()
    analyse(str(tmp_path / "elsewhere"))
    assert (elsewhere / OUTPUT / "kernel_details.csv").read_bytes() == first
    analyse(str(tmp_path / "elsewhere"), step_list=[2, 1])
    assert _steps_in(elsewhere) == {"1", "2"}
    assert said == []


@pytest.mark.parametrize("steps", [[1, 3], "1", [1.5], [-1], []])
def test_a_bad_step_list_is_noted_and_all_steps_are_parsed(steps: Any, said: list[str]) -> None:
    from stepscope.profiler.profiler import steps_of

    assert steps_of(steps) is None
    assert "consecutive" in said[0]


def test_an_empty_place_is_noted(tmp_path: Path, said: list[str]) -> None:
    analyse(str(tmp_path))
    assert "no capture" in said[0]


def test_a_parser_that_fails_costs_a_warning_that_says_how_to_go_on(tmp_path: Path, said: list[str]) -> None:
    with profile(output_path=str(tmp_path / "out")) as prof:
        torch.ones(3)
    directory = prof.windows[0].directory
    (directory / "STEPSCOPE" / "trace.json").write_text("not a trace")
    prof.windows[0].analyse()
    assert len(said) == 1
    assert f"stepscope analyse {directory}" in said[0]


@pytest.mark.parametrize("why", ["the process is being ended", "no analysis side"])
def test_a_window_that_stays_as_recorded_is_not_said_to_be_parsed(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], said: list[str]
) -> None:
    from stepscope.profiler.handover import parsing

    monkeypatch.setattr(parsing, "_state", parsing._State())
    monkeypatch.setattr(parsing, "parser_is_here", lambda: False)
    if why == "the process is being ended":
        parsing.leave_to_later()
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "out"))) as prof:
        torch.ones(3)
    directory = prof.windows[0].directory
    assert not (directory / OUTPUT).exists()
    assert "Parsing" not in capfd.readouterr().err
    assert [f"stepscope analyse {directory}" in text for text in said] == ([True] if why == "no analysis side" else [])


def test_what_is_noted_as_the_script_ends_names_no_line_of_ours(tmp_path: Path, job: Any) -> None:
    script = """
    import sys
    from stepscope.profiler import profile, schedule
    prof = profile(schedule=schedule(wait=0, warmup=1, active=5, repeat=1), output_path=sys.argv[1])
    for _ in range(3):
        prof.step()
    """
    code, _, errors = job.run(script, str(tmp_path / "out"), STEPSCOPE_BACKEND="plain")
    assert code == 0, errors
    assert "[stepscope] The training ended inside a window: 2 of 5 steps were recorded" in errors
    assert "StepscopeWarning" not in errors
    assert ".py:" not in errors


def test_async_mode_is_waited_for_where_the_script_ends_inside_the_window_and_its_files_stand_in_the_way(
    tmp_path: Path, job: Any
) -> None:
    script = """
    import sys
    from stepscope.profiler import profile, schedule, tensorboard_trace_handler
    handler = tensorboard_trace_handler(sys.argv[1], async_mode=True)
    prof = profile(schedule=schedule(wait=0, active=5, repeat=1), on_trace_ready=handler)
    prof.step()
    open("random.py", "w").write("raise SystemExit('not the standard library')")
    """
    code, _, errors = job.run(script, str(tmp_path / "out"), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert code == 0, errors
    (directory,) = (tmp_path / "out").iterdir()
    assert (directory / OUTPUT / "trace_view.json").is_file(), errors
    assert "Parsed" in errors


def test_the_parser_does_not_profile_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepscope.profiler.handover.parsing import _environment

    for name in ("MS_PROFILER_OPTIONS", "STEPSCOPE_PROFILE", "LD_PRELOAD"):
        monkeypatch.setenv(name, "{}")
    assert not {"MS_PROFILER_OPTIONS", "STEPSCOPE_PROFILE", "LD_PRELOAD"} & set(_environment())
    assert os.environ["STEPSCOPE_PROFILE"] == "{}"


def test_the_older_class_records_and_analyses(tmp_path: Path, said: list[str]) -> None:
    profiler = Profiler(output_path=str(tmp_path / "out"), record_shapes=True, op_time=True)
    torch.ones(4, 4).mm(torch.ones(4, 4))
    profiler.step()
    profiler.add_metadata("who", "me")
    profiler.analyse()
    (directory,) = (tmp_path / "out").iterdir()
    assert (directory / OUTPUT / "trace_view.json").is_file()
    assert json.loads((directory / "profiler_metadata.json").read_text())["who"] == "me"
    assert [text.split()[0] for text in said] == ["Profiler", "op_time", "Profiler.step()"]


def test_the_older_class_analyses_the_steps_it_is_told_and_says_when_it_is_done(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profiler = Profiler(output_path=str(tmp_path / "out"))
    weight = torch.ones(4, 4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(4):
        weight.mm(torch.ones(4, 4)).sum().backward()
        optimizer.step()
    profiler.analyse(step_list=[2, 1])
    (directory,) = (tmp_path / "out").iterdir()
    assert _steps_in(directory) == {"1", "2"}
    *_, last = (line for line in capfd.readouterr().err.splitlines() if line.startswith("[stepscope]"))
    assert last.startswith(f"[stepscope] Parsed {directory} in ")


def test_the_older_class_with_a_schedule_leaves_analysis_to_the_handler(tmp_path: Path, said: list[str]) -> None:
    handler = tensorboard_trace_handler(str(tmp_path / "out"), analyse_flag=False)
    profiler = Profiler(schedule=schedule(wait=0, active=2, repeat=1), on_trace_ready=handler)
    _train(profiler, 3)
    profiler.analyse()
    profiler.stop()
    assert len(list((tmp_path / "out").iterdir())) == 1
    assert any("analyse()" in text for text in said)


@pytest.mark.parametrize(
    ("name", "value"), [("worker_name", ""), ("worker_name", "a/b"), ("worker_name", "x" * 226), ("async_mode", 1)]
)
def test_bad_values_of_the_handler_are_noted_and_replaced(name: str, value: Any, said: list[str]) -> None:
    handler = tensorboard_trace_handler("out", **{name: value})
    assert getattr(handler, name) in (None, False)
    assert name in said[0]


def test_handlers_do_not_disturb_each_other(tmp_path: Path, plain: None) -> None:
    first = profile(
        start_profile=False, on_trace_ready=tensorboard_trace_handler(str(tmp_path / "a"), analyse_flag=False)
    )
    second = profile(
        start_profile=False, on_trace_ready=tensorboard_trace_handler(str(tmp_path / "b"), analyse_flag=False)
    )
    for prof in (first, second, first):
        prof.start()
        prof.stop()
    assert [len(list((tmp_path / name).iterdir())) for name in "ab"] == [2, 1]
    assert sys.modules["stepscope.profiler"].profile is type(first)
