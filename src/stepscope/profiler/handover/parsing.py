"""Has the analysis side write the documented files, in a process of its own, where it is installed."""

from __future__ import annotations

import atexit
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from stepscope.profiler.foundation.guard import attempt
from stepscope.profiler.foundation.messages import tell, warn
from stepscope.profiler.foundation.own_faults import ours

#: A parser must not profile itself, nor load what was preloaded into the training.
_NOT_FOR_THE_PARSER = ("MS_PROFILER_OPTIONS", "STEPSCOPE_PROFILE", "LD_PRELOAD", "KINETO_USE_DAEMON")
_NEEDED = ("polars", "numpy", "msgspec", "typer")


class _Waiting:
    def __init__(self) -> None:
        self.processes: list[tuple[subprocess.Popen[bytes], Path, float, int]] = []
        self.watched = False


_waiting = _Waiting()


def parse(
    directory: Path,
    wait: bool = True,
    simplify: bool = True,
    steps: Iterable[int] | None = None,
    jobs: int | None = None,
) -> bool:
    """Write the documented files of a capture; False if it is left as recorded. Says how it went."""
    if not parser_is_here():
        warn("parsing_elsewhere", directory=str(directory))
        return False
    # Python 3.11 knows -P: a file of the job's working directory must not stand for a module of the same name.
    command = [sys.executable, "-P", "-m", "stepscope", "analyse", str(directory)]
    command += [] if simplify else ["--keep-all"]
    command += [] if jobs is None else ["--jobs", str(jobs)]
    for step in steps or ():
        command += ["--step", str(step)]
    tell("parsing", directory=str(directory))
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()
    )
    began = time.monotonic()
    if wait:
        return _finish(process, directory, began)
    if not _waiting.watched:
        _waiting.watched = True
        atexit.register(wait_for_all)
    _waiting.processes.append((process, directory, began, os.getpid()))
    return True


def parser_is_here() -> bool:
    """Whether this interpreter can run the analysis side."""
    new_enough = sys.version_info >= (3, 11)
    try:
        return new_enough and all(importlib.util.find_spec(name) for name in (*_NEEDED, "stepscope.deliver"))
    except ours(ImportError, ValueError):
        return False


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_THE_PARSER}
    # The package that records is the one that parses, wherever the script put it, and nothing that lies beside it.
    mine = str(Path(__file__).resolve().parents[1] / "starting" / "bootstrap")
    before = environment.get("PYTHONPATH", "").split(os.pathsep)
    places = [mine, *(place for place in before if place != mine)]
    environment["PYTHONPATH"] = os.pathsep.join(place for place in places if place)
    return environment


def _finish(process: subprocess.Popen[bytes], directory: Path, began: float) -> bool:
    _, errors = process.communicate()
    if process.returncode == 0:
        tell("parsed", directory=str(directory), seconds=f"{time.monotonic() - began:.1f}")
        return True
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    warn("parsing_failed", directory=str(directory), reason=lines[-1] if lines else f"exit {process.returncode}")
    return False


def wait_for_all() -> None:
    """The script ends; its parsers finish first, so that none is left behind."""
    while _waiting.processes:
        process, directory, began, pid = _waiting.processes.pop(0)
        if pid == os.getpid():  # a forked child does not wait for those of its parent
            attempt("parsing", _finish, process, directory, began)
