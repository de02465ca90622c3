"""How long threads of the training were ready to run and had no core, as Linux counts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.profiler.samplers import cpu, processes


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    (tmp_path / "self" / "task").mkdir(parents=True)
    (tmp_path / "self" / "schedstat").write_text("9 9 9\n")
    return tmp_path / "self" / "task"


def _thread(tasks: Path, number: int, waited: int | None) -> None:
    (tasks / str(number)).mkdir()
    if waited is not None:
        (tasks / str(number) / "schedstat").write_text(f"1000 {waited} 3\n")


def test_each_thread_tells_its_own_waiting(tasks: Path) -> None:
    _thread(tasks, 11, 500)
    _thread(tasks, 12, 70)
    _thread(tasks, 13, None)  # it ended while it was asked
    assert processes.waited_ns() == {"11": 500, "12": 70, "13": 0}


def test_a_process_of_hundreds_of_threads_is_not_asked(tasks: Path) -> None:
    for number in range(33):
        _thread(tasks, number, 1)
    assert processes.waited_ns() is None


def test_a_system_that_does_not_count_tells_nothing(tasks: Path) -> None:
    _thread(tasks, 11, None)
    (tasks.parent / "schedstat").unlink()
    assert processes.waited_ns() is None


def test_threads_that_began_or_ended_since_the_last_look() -> None:
    # Thread 1 waited 40 more, thread 3 is new, thread 2 is gone, and a number that was used again starts anew.
    assert cpu._more({"1": 140, "3": 7, "4": 2}, {"1": 100, "2": 90, "4": 50}) == 47
