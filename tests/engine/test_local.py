"""Tasks on processes of this machine. The tasks are functions that every Python has, so that children find them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stepscope.engine.local import run_tasks
from stepscope.errors import UnreadableInputError


@pytest.fixture
def main_module() -> Iterator[dict[str, object]]:
    main = vars(sys.modules["__main__"])
    names = ("__file__", "__spec__")
    yield {name: main[name] for name in names if name in main}


def test_every_task_comes_back_with_its_result() -> None:
    assert dict(run_tasks(math.sqrt, [1.0, 4.0, 9.0])) == {1.0: 1.0, 4.0: 2.0, 9.0: 3.0}


def test_an_exception_is_given_back_and_the_others_go_on() -> None:
    found = dict(run_tasks(math.sqrt, [4.0, -1.0, 16.0]))
    assert isinstance(found.pop(-1.0), ValueError)
    assert found == {4.0: 2.0, 16.0: 4.0}


def test_children_are_new_processes_with_one_polars_thread_each() -> None:
    question = "(__import__('os').getpid(), __import__('polars').thread_pool_size())"
    ((_, answer),) = run_tasks(eval, [question])
    assert not isinstance(answer, Exception)
    assert answer[0] != os.getpid()
    assert answer[1] == 1


def test_children_are_spawned_and_never_forked() -> None:
    # What this process has imported is not there in a child that was started anew.
    ((_, answer),) = run_tasks(eval, ["'pytest' in __import__('sys').modules"])
    assert answer is False


@pytest.mark.parametrize("before", [None, "7"])
def test_the_environment_is_as_before_afterwards(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    if before is None:
        monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    else:
        monkeypatch.setenv("POLARS_MAX_THREADS", before)
    assert list(run_tasks(os.getenv, ["POLARS_MAX_THREADS"])) == [("POLARS_MAX_THREADS", "1")]
    assert os.environ.get("POLARS_MAX_THREADS") == before


def test_the_main_module_is_as_before_afterwards(main_module: dict[str, object]) -> None:
    list(run_tasks(math.sqrt, [1.0]))
    main = vars(sys.modules["__main__"])
    assert {name: main[name] for name in main_module} == main_module


def test_a_worker_that_is_killed_costs_its_own_task_only() -> None:
    results = dict(run_tasks(eval, ["1 + 1", "__import__('os')._exit(1)", "2 + 2", "3 + 3"]))
    died = results.pop("__import__('os')._exit(1)")
    assert isinstance(died, UnreadableInputError)
    assert (died.code, died.exit_code) == ("worker_died", 3)
    assert results == {"1 + 1": 2, "2 + 2": 4, "3 + 3": 6}


def test_another_engine_can_do_the_work() -> None:
    with ThreadPoolExecutor(2) as executor:
        found = dict(run_tasks(lambda number: (number, os.getpid()), [1, 2], executor))
    assert found == {1: (1, os.getpid()), 2: (2, os.getpid())}


def test_an_interactive_interpreter_can_use_processes(tmp_path: Path) -> None:
    # Its main module has neither a file nor a spec.
    script = "import math\nfrom stepscope.engine.local import run_tasks\nprint(dict(run_tasks(math.sqrt, [4.0])))\n"
    result = subprocess.run(
        [sys.executable, "-"], input=script, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (result.returncode, result.stdout.strip()) == (0, "{4.0: 2.0}"), result.stderr
