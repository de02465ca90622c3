"""Dynamic profiling: a file that is edited while the training runs decides which steps are recorded."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.profiler import DynamicProfilerMonitor
from stepscope.profiler.dynamic.config import DEFAULTS, understood
from support.limits import HANGS_AFTER_S

Write = Callable[..., None]
#: The documented sample, with whole numbers for enumerations and without "analyse".
SAMPLE = {
    "start_step": 2,
    "stop_step": 5,
    "aic_metrics": -1,
    "profiler_level": 0,
    "activities": 0,
    "export_type": 0,
    "profile_memory": False,
    "mstx": False,
    "analyse_mode": -1,
    "parallel_strategy": False,
    "with_stack": False,
    "data_simplification": True,
}


@pytest.fixture(autouse=True)
def _plain(plain: None) -> None:
    """No framework."""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "cfg").mkdir()
    return tmp_path / "cfg"


@pytest.fixture
def write(config: Path) -> Write:
    def change(**values: Any) -> None:
        (config / "profiler_config.json").write_text(json.dumps({**SAMPLE, **values}))

    return change


@pytest.fixture
def monitor(config: Path, tmp_path: Path) -> Iterator[Callable[..., DynamicProfilerMonitor]]:
    made: list[DynamicProfilerMonitor] = []

    def make(**values: Any) -> DynamicProfilerMonitor:
        made.append(DynamicProfilerMonitor(str(config), **{"output_path": str(tmp_path / "out"), **values}))
        end = time.monotonic() + HANGS_AFTER_S
        while not list(config.glob("profiler_status_*")) and time.monotonic() < end:
            time.sleep(0.001)  # its thread has looked once, and is out of the way of these very short steps
        return made[-1]

    yield make
    for one in made:
        one.stop()


def _recorded(out: Path) -> dict[str, list[int]]:
    """Whole steps of every window, by its folder's name."""
    found = {}
    for folder in sorted(out.iterdir()):
        (window,) = folder.iterdir()
        lines = [json.loads(line) for line in (window / "STEPSCOPE" / "steps.jsonl").read_text().splitlines()]
        found[folder.name] = [line["step"] for line in lines if line["event"] == "end"]
    return found


def test_the_documented_sample_changed_live_gives_both_windows(tmp_path: Path, write: Write, monitor: Any) -> None:
    write()
    dp = monitor()
    for step in range(1, 16):
        if step == 6:
            write(start_step=8, stop_step=10)
        dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start2_stop5": [2, 3, 4, 5], "rank0_start8_stop10": [8, 9, 10]}
    assert [window.directory.parent.name for window in dp.windows] == ["rank0_start2_stop5", "rank0_start8_stop10"]
    run = stepscope.load(tmp_path / "out" / "rank0_start8_stop10")
    assert run.table("steps").collect()["step"].to_list() == [8, 9, 10]


def test_the_first_step_can_be_recorded(tmp_path: Path, write: Write, monitor: Any) -> None:
    write(start_step=1, stop_step=1)
    dp = monitor()
    dp.step()
    dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start1_stop1": [1]}


class RunContext:
    """What ``Model.train`` hands to a callback."""

    def __init__(self, number: int) -> None:
        self.cur_step_num = number

    def original_args(self) -> RunContext:
        return self


def test_a_callback_numbers_steps_as_a_loop_does(tmp_path: Path, write: Write, monitor: Any) -> None:
    write()
    dp = monitor()
    for number in range(1, 8):
        dp.on_train_step_begin(RunContext(number))
        dp.on_train_step_end(RunContext(number))
    dp.on_train_end(RunContext(7))
    assert _recorded(tmp_path / "out") == {"rank0_start2_stop5": [2, 3, 4, 5]}


def test_in_sink_mode_a_window_takes_the_calls_that_begin_inside_it(tmp_path: Path, write: Write, monitor: Any) -> None:
    write(start_step=150, stop_step=350)
    dp = monitor()
    for first in range(1, 1001, 100):  # one call per hundred steps
        dp.on_train_step_begin(RunContext(first))
        dp.on_train_step_end(RunContext(first + 99))
    assert _recorded(tmp_path / "out") == {"rank0_start201_stop350": [201, 301]}


def test_a_resumed_training_keeps_its_own_numbers(tmp_path: Path, write: Write, monitor: Any) -> None:
    write(start_step=1002, stop_step=1003)
    dp = monitor()
    for number in range(1001, 1006):
        dp.on_train_step_begin(RunContext(number))
        dp.on_train_step_end(RunContext(number))
    assert _recorded(tmp_path / "out") == {"rank0_start1002_stop1003": [1002, 1003]}


def test_the_next_steps_from_now(tmp_path: Path, config: Path, write: Write, monitor: Any) -> None:
    from stepscope.profiler.dynamic.trigger import ask

    write(start_step=-1, stop_step=-1)
    dp = monitor()
    for step in range(1, 20):
        if step in (5, 12):
            ask(config, steps=2)
        dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start13_stop14": [13, 14], "rank0_start6_stop7": [6, 7]}


def test_a_change_that_comes_late_records_what_is_left_and_says_when_nothing_is(
    tmp_path: Path, write: Write, monitor: Any, said: list[str]
) -> None:
    write(start_step=-1, stop_step=-1)
    dp = monitor()
    for step in range(1, 12):
        if step == 3:
            write(start_step=2, stop_step=5)
        if step == 8:
            write(start_step=3, stop_step=4)
        dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start4_stop5": [4, 5]}
    assert len(said) == 1
    assert "steps 3 to 4 are over" in said[0]


def test_a_change_while_a_window_records_ends_it_with_its_step(tmp_path: Path, write: Write, monitor: Any) -> None:
    write(start_step=2, stop_step=50)
    dp = monitor()
    for step in range(1, 12):
        if step == 3:
            write(start_step=4, stop_step=7)
        dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start2_stop3": [2, 3], "rank0_start4_stop7": [4, 5, 6, 7]}
    (ended, _) = dp.windows
    assert json.loads((ended.directory / "stepscope.json").read_text())["incomplete"] == "asked"


def test_switched_off_inside_a_window_what_it_has_is_whole_and_handed_over(
    tmp_path: Path, config: Path, write: Write, monitor: Any, said: list[str], capfd: Any
) -> None:
    from stepscope.profiler.dynamic.trigger import answers, ask, directories

    write(start_step=3, stop_step=500, analyse=True, analyse_mode=0)
    dp = monitor(poll_interval=1)
    for step in range(1, 30):
        if step == 8:
            mark = ask(config)
        dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start3_stop8": [3, 4, 5, 6, 7, 8]}
    (window,) = dp.windows
    assert (window.directory / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file()
    assert said == []
    assert f"Next: stepscope diagnose {window.directory}" in capfd.readouterr().err
    (status,) = answers(config, mark, wait_s=HANGS_AFTER_S)
    assert status["state"] == "idle"
    assert [(entry["start"], entry["stop"], entry["state"]) for entry in status["history"]] == [(3, 8, "done")]
    assert directories([status], mark) == [str(window.directory)]


def test_the_history_keeps_windows_that_are_over(config: Path, write: Write, monitor: Any) -> None:
    from stepscope.profiler.dynamic.trigger import answers, ask

    write(start_step=-1, stop_step=-1)
    dp = monitor(poll_interval=1)
    marks = []
    for steps in (1, 2):
        marks.append(ask(config, steps=steps, analyse=False))
        for _ in range(6):
            dp.step()
        (status,) = answers(config, marks[-1], wait_s=HANGS_AFTER_S)
    assert [entry["request"] for entry in status["history"]] == marks
    assert [entry["directories"] for entry in status["history"]] == [[str(one.directory)] for one in dp.windows]


def test_the_status_tells_whole_paths_wherever_the_job_goes(
    tmp_path: Path, config: Path, write: Write, monitor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stepscope.profiler.dynamic.trigger import answers, ask

    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    write(start_step=-1, stop_step=-1)
    dp = monitor(poll_interval=1, output_path="relative")
    monkeypatch.chdir(tmp_path / "elsewhere")
    mark = ask(config, steps=2, analyse=False)
    for _ in range(6):
        dp.step()
    (status,) = answers(config, mark, wait_s=HANGS_AFTER_S)
    ((directory,),) = (entry["directories"] for entry in status["history"])
    assert Path(directory).parent.parent == tmp_path / "relative"
    assert Path(directory, "stepscope.json").is_file()


def test_a_window_that_has_not_begun_can_be_moved_and_taken_back(tmp_path: Path, write: Write, monitor: Any) -> None:
    write(start_step=8, stop_step=9)
    dp = monitor()
    for step in range(1, 14):
        if step == 2:
            write(start_step=5, stop_step=6)
        if step == 7:
            write(start_step=11, stop_step=12)
        if step == 8:
            write(start_step=-1, stop_step=-1)
        dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start5_stop6": [5, 6]}


def test_switches_changed_before_the_window_begins_count(tmp_path: Path, write: Write, monitor: Any) -> None:
    write(start_step=8, stop_step=8)
    dp = monitor()
    for step in range(1, 10):
        if step == 2:
            write(start_step=8, stop_step=8, mstx=True, profiler_level=1)
        dp.step()
    (window,) = (tmp_path / "out" / "rank0_start8_stop8").iterdir()
    said = json.loads((window / "stepscope.json").read_text())
    assert (said["level"], said["switches"]["mstx"]) == ("Level1", True)


def test_a_missing_file_is_created_with_the_documented_defaults(config: Path, tmp_path: Path, monitor: Any) -> None:
    dp = monitor()
    for _ in range(3):
        dp.step()
    path = config / "profiler_config.json"
    assert json.loads(path.read_text()) == DEFAULTS
    assert path.read_text().startswith('{\n    "start_step": -1')
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_not_there_is_made(tmp_path: Path, monitor: Any) -> None:
    dp = DynamicProfilerMonitor(str(tmp_path / "new" / "cfg"))
    dp.stop()
    assert (tmp_path / "new" / "cfg" / "profiler_config.json").is_file()


@pytest.mark.parametrize("broken", ["", '{"start_step": 9, "st', "[1, 2]", "null", "\x00\xff", "[" * 100_000])
def test_a_broken_config_keeps_the_old_one_with_one_warning_and_recovers(
    broken: str, config: Path, tmp_path: Path, write: Write, monitor: Any, said: list[str]
) -> None:
    write()
    dp = monitor()
    for step in range(1, 12):
        if step == 2:
            (config / "profiler_config.json").write_text(broken, encoding="latin-1")
        if step == 6:
            write(start_step=8, stop_step=9)
        dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start2_stop5": [2, 3, 4, 5], "rank0_start8_stop9": [8, 9]}
    assert len(said) == 1
    assert "the config before it counts" in said[0]


def test_a_file_that_the_group_may_write_is_read(tmp_path: Path, config: Path, write: Write, monitor: Any) -> None:
    write()
    (config / "profiler_config.json").chmod(0o666)
    dp = monitor()
    for _ in range(7):
        dp.step()
    assert list(_recorded(tmp_path / "out")) == ["rank0_start2_stop5"]


@pytest.mark.parametrize(
    "values", [{"start_step": 5, "stop_step": 2}, {"start_step": "2"}, {"start_step": True}, {"next_steps": 0}]
)
def test_an_impossible_range_is_refused_and_the_next_one_counts(
    values: dict[str, Any], tmp_path: Path, write: Write, monitor: Any, said: list[str]
) -> None:
    write(**values)
    dp = monitor()
    for step in range(1, 8):
        if step == 3:
            write(start_step=5, stop_step=5)
        dp.step()
    assert _recorded(tmp_path / "out") == {"rank0_start5_stop5": [5]}
    assert len(said) == 1
    assert "no range of steps" in said[0]


@pytest.mark.parametrize(
    ("key", "number", "meant"),
    [
        ("aic_metrics", -1, "AiCoreNone"),
        ("aic_metrics", 5, "ResourceConflictRatio"),
        ("profiler_level", -1, "LevelNone"),
        ("profiler_level", 2, "Level2"),
        ("activities", 0, ["CPU", "NPU"]),
        ("activities", 2, ["NPU"]),
        ("export_type", 0, ["text"]),
        ("export_type", 2, ["text", "db"]),
    ],
)
def test_whole_numbers_of_older_documents_are_understood(key: str, number: int, meant: Any) -> None:
    assert understood({**SAMPLE, key: number}).parameters[key] == meant


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"analyse_mode": 0}, (True, False)),
        ({"analyse_mode": 1}, (True, True)),
        ({"analyse_mode": -1}, (False, False)),
        ({"analyse": False, "analyse_mode": 0}, (False, False)),
        ({"analyse": True, "analyse_mode": -1}, (True, False)),
        ({}, (False, False)),
    ],
)
def test_analyse_mode_means_parsing_where_analyse_is_not_said(
    values: dict[str, Any], expected: tuple[bool, bool]
) -> None:
    request = understood(values)
    assert (request.analyse, request.in_background) == expected


def test_the_slip_of_the_documented_sample_is_understood_with_a_warning(said: list[str]) -> None:
    assert understood({**SAMPLE, "record_shape": True}).parameters["record_shapes"] is True
    assert len(said) == 1
    assert "record_shapes is meant" in said[0]


def test_prof_path_counts_unless_it_is_the_default(tmp_path: Path, write: Write, monitor: Any) -> None:
    write(prof_path=str(tmp_path / "elsewhere"))
    dp = monitor()
    for _ in range(7):
        dp.step()
    assert list(_recorded(tmp_path / "elsewhere")) == ["rank0_start2_stop5"]
    assert understood({"prof_path": "./"}).output == ""


def test_a_key_that_nobody_knows_is_named(said: list[str]) -> None:
    assert "profile_memroy" not in understood({**SAMPLE, "profile_memroy": True, "is_valid": True}).parameters
    assert said == ["There is no parameter profile_memroy; it is ignored."]


def test_a_training_that_ends_inside_a_window_keeps_it(
    tmp_path: Path, write: Write, monitor: Any, said: list[str]
) -> None:
    write()
    dp = monitor()
    for _ in range(3):
        dp.step()
    dp.on_train_end(None)
    assert _recorded(tmp_path / "out") == {"rank0_start2_stop5": [2, 3]}
    assert "2 of 4 steps" in said[0]


def test_a_window_that_only_the_last_step_opened_leaves_nothing(tmp_path: Path, write: Write, monitor: Any) -> None:
    write(start_step=3, stop_step=4)
    dp = monitor()
    dp.step()
    dp.step()
    dp.on_train_end(None)
    assert not list((tmp_path / "out").rglob("*_ascend_*"))


def test_wrong_arguments_warn_and_do_not_stop_the_training(tmp_path: Path, said: list[str]) -> None:
    dp = DynamicProfilerMonitor()
    dp.step()
    dp.on_train_end(None)
    dp = DynamicProfilerMonitor(str(tmp_path / "cfg"), 7, poll_interval=0)
    dp.step()
    dp.step_end("no context")
    dp.stop()
    dp.step()
    assert ["cfg_path" in said[0], "output_path" in said[1], "poll_interval" in said[2]] == [True] * 3
    assert "cur_step_num" in said[3]
    assert len(said) == 4


def test_the_status_file_acknowledges_and_ends(config: Path, write: Write, monitor: Any) -> None:
    from stepscope.profiler.dynamic.trigger import answers, ask

    write(start_step=-1, stop_step=-1)
    dp = monitor(poll_interval=1)
    mark = ask(config, steps=3)
    dp.step()
    end = time.monotonic() + HANGS_AFTER_S
    while not (statuses := answers(config, mark)) and time.monotonic() < end:
        time.sleep(0.01)
    (status,) = statuses
    (window,) = status["windows"]
    assert (status["state"], status["history"][0]["state"]) in {("agreed", "agreed"), ("agreed", "recording")}
    assert window["start"] in (2, 3), "by the step that the thread beside the training saw"
    assert window["stop"] == window["start"] + 2
    assert [rank["rank"] for rank in status["ranks"]] == [0]
    for _ in range(6):
        dp.step()
    dp.stop()
    (status,) = answers(config, mark)
    assert (status["state"], status["pid"]) == ("ended", os.getpid())


def test_waiting_for_a_window_costs_next_to_nothing(write: Write, monitor: Any) -> None:
    write(start_step=10_000_000, stop_step=10_000_001)
    dp = monitor()
    best = 1e9
    for _ in range(20):
        began = time.process_time_ns()
        for _ in range(200):
            dp.step()
        best = min(best, (time.process_time_ns() - began) / 200)
    assert best < 50_000, "0.5 % of a step of 10 ms"
