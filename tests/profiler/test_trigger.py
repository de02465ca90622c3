"""``stepscope trigger``: the config is written in one move, and the job's answer is told."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from stepscope.cli import trigger as command
from stepscope.errors import NoAnswerError, UsageError
from stepscope.profiler import DynamicProfilerMonitor
from stepscope.profiler.dynamic.config import DEFAULTS, understood
from stepscope.profiler.dynamic.trigger import ask
from support.limits import HANGS_AFTER_S

_app = typer.Typer()
_app.command()(command.trigger)


def _call(*words: str) -> Any:
    result = CliRunner().invoke(_app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def _config(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "profiler_config.json").read_text())
    return content


def test_a_range_is_written_and_everything_else_keeps_its_value(tmp_path: Path) -> None:
    before = {**DEFAULTS, "profiler_level": "Level1", "mine": 7}
    (tmp_path / "profiler_config.json").write_text(json.dumps(before))
    _call(str(tmp_path), "--start", "8", "--stop", "10", "--memory")
    after = _config(tmp_path)
    assert after.pop("request")
    asked = {"start_step": 8, "stop_step": 10, "profile_memory": True}
    assert after == {**before, **asked, "analyse": True, "analyse_mode": 1}, "who asks wants to read it"
    _call(str(tmp_path), "--off")
    assert _config(tmp_path)["analyse"] is True
    _call(str(tmp_path), "--steps", "2", "--no-parse", "--no-background")
    assert (_config(tmp_path)["analyse"], _config(tmp_path)["analyse_mode"]) == (False, 0)


def test_the_next_steps_leave_the_range_off_so_that_other_monitors_stay_idle(tmp_path: Path) -> None:
    _call(str(tmp_path / "new"), "--steps", "3", "--level", "2", "--no-parse")
    content = _config(tmp_path / "new")
    assert (content["start_step"], content["stop_step"], content["next_steps"]) == (-1, -1, 3)
    assert (content["profiler_level"], content["analyse"]) == ("Level2", False)
    first = understood(content).identity
    _call(str(tmp_path / "new" / "profiler_config.json"), "--steps", "3")
    assert understood(_config(tmp_path / "new")).identity != first, "the same again is another request"
    _call(str(tmp_path / "new"), "--off")
    assert "next_steps" not in _config(tmp_path / "new")


@pytest.mark.parametrize("words", [[], ["--start", "2"], ["--start", "5", "--stop", "2"], ["--steps", "1", "--off"]])
def test_what_is_asked_must_be_clear(words: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        _call(str(tmp_path), *words)
    assert not (tmp_path / "profiler_config.json").exists()


def test_a_broken_config_is_made_whole(tmp_path: Path) -> None:
    (tmp_path / "profiler_config.json").write_text('{"start_step": 2, "sto')
    ask(tmp_path, steps=1)
    assert _config(tmp_path)["next_steps"] == 1


def test_who_could_read_the_config_still_can(tmp_path: Path) -> None:
    path = tmp_path / "profiler_config.json"
    path.write_text("{}")
    path.chmod(0o664)
    ask(tmp_path, steps=1)
    assert path.stat().st_mode & 0o777 == 0o664
    assert [entry.name for entry in tmp_path.iterdir()] == ["profiler_config.json"], "no draft is left"


def test_a_place_that_cannot_be_written_is_a_mistake_of_usage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        _call(str(tmp_path / "file" / "cfg"), "--steps", "1")


def test_nobody_answers_where_no_job_watches(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match="No job answered"):
        _call(str(tmp_path), "--steps", "1", "--wait", "0.1")


def test_a_folder_that_no_job_watches_is_remarked_on(tmp_path: Path, plain: None) -> None:
    assert "No job has reported from" in _call(str(tmp_path / "typo"), "--steps", "3").stderr
    assert "No job has reported" not in _call(str(tmp_path / "typo"), "--steps", "3", "--json").stderr
    monitor = DynamicProfilerMonitor(cfg_path=str(tmp_path / "cfg"), output_path=str(tmp_path / "out"))
    monitor.step()
    until = time.monotonic() + HANGS_AFTER_S
    while not any((tmp_path / "cfg").glob("profiler_status_*.json")) and time.monotonic() < until:
        time.sleep(0.01)  # it reports beside the training
    assert "No job has reported" not in _call(str(tmp_path / "cfg"), "--off").stderr
    monitor.stop()


def test_the_answer_of_a_running_job_is_reported(tmp_path: Path, plain: None) -> None:
    monitor = DynamicProfilerMonitor(str(tmp_path), str(tmp_path / "out"), poll_interval=1)
    end = threading.Event()

    def train() -> None:
        while not end.wait(0.005):
            monitor.step()

    thread = threading.Thread(target=train)
    thread.start()
    try:
        result = _call(str(tmp_path), "--steps", "2", "--wait", str(HANGS_AFTER_S), "--json")
        answer = json.loads(result.stdout.splitlines()[-1])["data"]
        (job,) = answer["jobs"]
        (window,) = job["windows"]
        assert window["stop"] == window["start"] + 1
        (directory,) = answer["directories"]
        assert (Path(directory) / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file(), "parsed by default"
        with pytest.raises(NoAnswerError, match="already past these steps"):
            _call(str(tmp_path), "--start", "1", "--stop", "1", "--wait", str(HANGS_AFTER_S))
        with pytest.raises(NoAnswerError, match="is not finished"):
            _call(str(tmp_path), "--start", "1", "--stop", "1000000000", "--wait", "3")
        result = _call(str(tmp_path), "--off", "--wait", str(HANGS_AFTER_S))
        assert f"Recorded: {tmp_path / 'out'}" in result.stdout
        assert "Next: stepscope diagnose" in result.stdout
    finally:
        end.set()
        thread.join()
        monitor.stop()
    first, _ = (window.directory.parent.name for window in monitor.windows)
    assert first == f"rank0_start{window['start']}_stop{window['stop']}"


def test_readers_never_see_half_a_config(tmp_path: Path) -> None:
    ask(tmp_path, steps=1)
    end = threading.Event()

    def write() -> None:
        while not end.is_set():
            ask(tmp_path, steps=2, prof_path="x" * 10_000)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(500):
            assert _config(tmp_path)["next_steps"] in (1, 2)
    finally:
        end.set()
        thread.join()
