"""Every change of state of the sheet: what is done between two steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler
from stepscope.profiler.recording.profile import Profile

N, W, R, S = ProfilerAction

pytestmark = pytest.mark.usefixtures("plain")


class Watched(Profile):
    """A profile that writes down what it does to its windows."""

    def _set_up(self, settings: Any) -> None:
        self.done: list[str] = []
        super()._set_up(settings)

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        watched = ("_prepare", "_start_window", "_stop_window", "_finalize", "_hand_over", "_drop")
        if name in watched:
            self.done.append(name.strip("_").replace("_window", ""))
        return value


def _run(states: list[ProfilerAction], where: Path) -> tuple[list[list[str]], list[Any]]:
    """What is done at start, at each step() and at stop, for a plan that answers with these states."""
    handed: list[Any] = []
    plan: Callable[[int], ProfilerAction] = lambda step: states[step] if step < len(states) else N  # noqa: E731
    watched = Watched(schedule=plan, on_trace_ready=handed.append, output_path=str(where))
    rounds = []
    for _ in range(len(states) - 1):
        rounds.append(list(watched.done))
        watched.done.clear()
        watched.step()
    rounds.append(list(watched.done))
    watched.done.clear()
    watched.stop()
    rounds.append(list(watched.done))
    return rounds, handed


@pytest.mark.parametrize(
    ("old", "new", "expected", "warning"),
    [
        (N, N, [], None),
        (N, W, ["prepare"], None),
        (N, R, ["prepare", "start"], None),
        (N, S, ["prepare", "start"], None),
        (W, N, ["drop"], "nothing was recorded"),
        (W, W, [], None),
        (W, R, ["start"], None),
        (W, S, ["start"], None),
        (R, N, ["stop", "finalize"], "without RECORD_AND_SAVE"),
        (R, W, ["stop", "finalize", "prepare"], "without RECORD_AND_SAVE"),
        (R, R, [], None),
        (R, S, [], None),
        (S, N, ["stop", "finalize", "hand_over"], None),
        (S, W, ["stop", "finalize", "hand_over", "prepare"], None),
        (S, R, ["stop", "finalize", "hand_over", "prepare", "start"], None),
        (S, S, ["stop", "finalize", "hand_over", "prepare", "start"], None),
    ],
)
def test_between_two_steps(
    old: ProfilerAction,
    new: ProfilerAction,
    expected: list[str],
    warning: str | None,
    tmp_path: Path,
    said: list[str],
) -> None:
    rounds, _ = _run([old, new, N, N], tmp_path)
    assert rounds[1] == expected
    assert warning is None or any(warning in text for text in said)


@pytest.mark.parametrize(
    ("last", "expected", "kept", "warning"),
    [
        (N, [], 0, None),
        (W, ["drop"], 0, "there was none: nothing was recorded"),
        (R, ["stop", "finalize", "hand_over"], 1, "there was none: the window never ended"),
        (S, ["stop", "finalize", "hand_over"], 1, "there was none: the window never ended"),
    ],
)
def test_at_the_end_without_a_step(
    last: ProfilerAction, expected: list[str], kept: int, warning: str | None, tmp_path: Path, said: list[str]
) -> None:
    rounds, handed = _run([last], tmp_path)
    assert rounds[-1] == expected
    assert len(handed) == kept
    assert len(list(tmp_path.iterdir())) == kept, "a window that recorded nothing leaves no directory"
    assert (warning is None and not said) or any(str(warning) in text for text in said)


def _steps_of(directory: Path) -> list[int]:
    lines = [json.loads(line) for line in (directory / "STEPSCOPE" / "steps.jsonl").read_text().splitlines()]
    return [line["step"] for line in lines if line["event"] == "end"]


def test_each_window_has_a_directory_and_its_steps(tmp_path: Path, said: list[str]) -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    with profile(schedule=plan, on_trace_ready=tensorboard_trace_handler(str(tmp_path), analyse_flag=False)) as prof:
        for _ in range(12):
            prof.step()
    assert [_steps_of(window.directory) for window in prof.windows] == [[3, 4], [7, 8]]
    assert len(list(tmp_path.iterdir())) == 2
    assert said == []


@pytest.mark.parametrize("steps", range(1, 14))
def test_an_endless_schedule_leaves_no_empty_window(steps: int, tmp_path: Path, said: list[str]) -> None:
    plan = schedule(wait=1, warmup=1, active=2)
    with profile(schedule=plan, output_path=str(tmp_path)) as prof:
        for _ in range(steps):
            prof.step()
    recorded = [step for step in range(steps) if step % 4 >= 2]
    assert [step for window in prof.windows for step in _steps_of(window.directory)] == recorded
    assert len(list(tmp_path.iterdir())) == len(prof.windows) == (len(recorded) + 1) // 2


def test_a_schedule_longer_than_the_training_keeps_what_was_recorded(tmp_path: Path, said: list[str]) -> None:
    with profile(schedule=schedule(wait=0, active=10, repeat=1), output_path=str(tmp_path)) as prof:
        for _ in range(3):
            prof.step()
    assert _steps_of(prof.windows[0].directory) == [0, 1, 2]
    assert json.loads((prof.windows[0].directory / "stepscope.json").read_text())["incomplete"] == "stopped_early"
    assert len(said) == 1
    assert "3 of 10 steps" in said[0]


def test_a_schedule_of_the_users_own_that_never_ends_a_window_is_told_how_to(tmp_path: Path, said: list[str]) -> None:
    with profile(schedule=lambda step: ProfilerAction.RECORD, output_path=str(tmp_path)) as prof:
        prof.step()
    assert json.loads((prof.windows[0].directory / "stepscope.json").read_text())["incomplete"] == "stopped_early"
    (warning,) = said
    assert "recorded until then (1) is kept" in warning and "RECORD_AND_SAVE" in warning


def test_a_schedule_that_never_begins_says_so(tmp_path: Path, said: list[str]) -> None:
    with profile(schedule=schedule(wait=3, active=2, repeat=1), output_path=str(tmp_path)) as prof:
        for _ in range(3):
            prof.step()
    assert not prof.windows
    assert "ended before" in said[0]
    assert list(tmp_path.iterdir()) == []


def test_a_schedule_that_the_training_never_reaches_says_so_too(tmp_path: Path, said: list[str]) -> None:
    with profile(schedule=schedule(wait=100, active=2, repeat=1), output_path=str(tmp_path)) as prof:
        for _ in range(4):
            prof.step()
    assert len(said) == 1
    assert "ended before" in said[0]


def test_a_schedule_without_step_calls_says_what_it_lacks(tmp_path: Path, said: list[str]) -> None:
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), output_path=str(tmp_path)):
        pass
    assert len(said) == 1
    assert "Call step() after each training step" in said[0]
    assert list(tmp_path.iterdir()) == []


def test_bad_values_do_not_open_a_window_at_every_step(tmp_path: Path, said: list[str]) -> None:
    plan = schedule(wait=-1, warmup="x", active=2, repeat=1, skip_first=None)  # type: ignore[arg-type]
    with profile(schedule=plan, output_path=str(tmp_path)) as prof:
        for _ in range(6):
            prof.step()
    assert [_steps_of(window.directory) for window in prof.windows] == [[0, 1]]
    assert len(said) == 3


def test_start_and_stop_may_be_repeated_and_steps_count_on(tmp_path: Path, said: list[str]) -> None:
    prof = profile(start_profile=False, output_path=str(tmp_path))
    for _ in range(2):
        prof.start()
        prof.step()
        prof.step()
        prof.stop()
    assert [_steps_of(window.directory) for window in prof.windows] == [[0, 1], [2, 3]]
    assert said == []


def test_calls_out_of_order_are_ignored_with_a_warning(tmp_path: Path, said: list[str]) -> None:
    prof = profile(start_profile=False, output_path=str(tmp_path))
    prof.step()
    prof.stop()
    prof.start()
    prof.start()
    prof.stop()
    assert [text.split(";")[0] for text in said] == [
        "The profiler is not running",
        "The profiler is not running",
        "The profiler is running already",
    ]
    assert len(prof.windows) == 1


def test_a_thrown_away_profile_stops_itself(tmp_path: Path, said: list[str]) -> None:
    prof = profile(output_path=str(tmp_path))
    del prof
    assert "thrown away" in said[0]
    (directory,) = tmp_path.iterdir()
    assert json.loads((directory / "stepscope.json").read_text())["state"] == "complete"
