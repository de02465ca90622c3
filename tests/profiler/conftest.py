"""Fixtures for the tests of the profiler: each starts with nothing said and nothing recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import stepscope
from stepscope.profiler.foundation import messages
from stepscope.profiler.recording.window import Window
from support.limits import HANGS_AFTER_S

#: Scripts for processes of their own, no tests.
collect_ignore = ["mindspore_fault_job.py", "mindspore_job.py", "trainer_jobs.py", "fault_sweep.py", "signal_storm.py"]

SOURCE = str(Path(stepscope.__file__).parents[1])


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("RANK", "RANK_ID", "WORLD_SIZE", "RANK_SIZE", "LOCAL_RANK", "STEPSCOPE_BACKEND", "STEPSCOPE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STEPSCOPE_LANG", "en")
    messages.forget()
    yield
    assert Window.active is None, "a window was left open"


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend for any Python loop, although other tests have imported PyTorch."""
    monkeypatch.setenv("STEPSCOPE_BACKEND", "plain")


@pytest.fixture
def said() -> Iterator[list[str]]:
    """The warnings of the profiler, in order."""
    texts: list[str] = []

    def show(message: Warning | str, *place: object, **further: object) -> None:
        del place, further
        if isinstance(message, messages.StepscopeWarning):
            texts.append(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", messages.StepscopeWarning)
        warnings.showwarning = show
        yield texts


class Job:
    """Runs a script as its own process, with the package on its path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, script: str, *args: str, python: str = sys.executable, **environment: str) -> subprocess.Popen[str]:
        path = self.folder / "job.py"
        draft = path.with_suffix(f".{os.urandom(4).hex()}")
        draft.write_text(textwrap.dedent(script))
        draft.replace(path)  # a process started a moment ago may be reading it
        cleared = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
        return subprocess.Popen(
            [python, str(path), *args],
            env={**cleared, "PYTHONPATH": SOURCE, "STEPSCOPE_LANG": "en", **environment},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, script: str, *args: str, python: str = sys.executable, **environment: str) -> tuple[int, str, str]:
        """Exit code, output and errors."""
        process = self.start(script, *args, python=python, **environment)
        output, errors = process.communicate(timeout=HANGS_AFTER_S)
        return process.returncode, output, errors


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)
