"""``tensorboard_trace_handler``: where windows go, and whether they are parsed when they end."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from stepscope.profiler.foundation.line_files import absolute
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.paths import make_directory
from stepscope.profiler.handover.finished_window import FinishedWindow
from stepscope.profiler.settings.profile_settings import DEFAULT_OUTPUT, usable_path

_LONGEST_WORKER = 226


class TraceHandler:
    """For ``on_trace_ready``; the profile takes directory and worker name from it before a window begins."""

    def __init__(self, dir_name: Any, worker_name: Any, analyse_flag: Any, async_mode: Any) -> None:
        chosen = DEFAULT_OUTPUT if dir_name is None else usable_path("dir_name", dir_name)
        self.dir_name = str(absolute(chosen))
        self.worker_name = _worker(worker_name)
        self.analyse_flag = _flag("analyse_flag", analyse_flag, True)
        self.async_mode = _flag("async_mode", async_mode, False)

    def __call__(self, finished: FinishedWindow) -> None:
        self._bring_home(finished)
        if self.analyse_flag:
            finished.analyse(async_mode=self.async_mode)

    def _bring_home(self, finished: FinishedWindow) -> None:
        """Called from a callback of the user's, the profile could not know the directory: the window moves there."""
        home = Path(self.dir_name)
        if finished.directory.parent != home:
            make_directory(home)
            finished.directory = Path(shutil.move(str(finished.directory), str(home / finished.directory.name)))


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> TraceHandler:
    """Windows go into ``dir_name`` and are parsed as they end, unless ``analyse_flag`` is off.

    ``async_mode`` parses beside the training; the end of the script waits for it.
    """
    return TraceHandler(dir_name, worker_name, analyse_flag, async_mode)


def _worker(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and 0 < len(value) < _LONGEST_WORKER and not set("/\0") & set(value):
        return value
    expected = f"a file name of less than {_LONGEST_WORKER} characters"
    warn("handler_value", name="worker_name", value=repr(value)[:200], expected=expected, fallback="host name")
    return None


def _flag(name: str, value: Any, fallback: bool) -> bool:
    if isinstance(value, bool):
        return value
    warn("handler_value", name=name, value=repr(value)[:200], expected="bool", fallback=fallback)
    return fallback
