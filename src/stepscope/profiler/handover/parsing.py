"""Has the analysis side write the documented files, in a process of its own, where it is installed."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.handover.parsers import Parser, one_stands_still

#: A parser must not profile itself, nor load what was preloaded into the training.
_NOT_FOR_THE_PARSER = ("MS_PROFILER_OPTIONS", "STEPSCOPE_PROFILE", "LD_PRELOAD", "KINETO_USE_DAEMON")
_NEEDED = ("polars", "numpy", "msgspec", "typer")
_BOOTSTRAP = str(Path(__file__).resolve().parents[1] / "starting" / "bootstrap")


class _State:
    """Who parses for this process, and whether there is time for it."""

    def __init__(self) -> None:
        self.installation: tuple[str, str] | None = None
        self.later = False


_state = _State()


def parse_with(python: str, path: str) -> None:
    """Have this interpreter parse, with this PYTHONPATH: that of the launcher, whatever Python the job runs in."""
    _state.installation = (python, path)


def leave_to_later() -> None:
    """The process is being ended: windows are saved and left as recorded."""
    _state.later = True


def parse(
    directory: Path,
    wait: bool = True,
    simplify: bool = True,
    steps: Iterable[int] | None = None,
    jobs: int | None = None,
    tell_begin: bool = True,
    tell_end: bool = True,
) -> bool:
    """Write the documented files of a capture; False if it is left as recorded. What goes wrong is always said."""
    if _state.later:
        return False
    parser = _parser()
    if parser is None:
        warn("parsing_elsewhere", directory=str(directory))
        return False
    if one_stands_still():
        warn("parsing_not_begun", directory=str(directory))
        return False
    python, environment = parser
    # Python 3.11 knows -P: a file of the job's working directory must not stand for a module of the same name.
    command = [python, "-P", "-m", "stepscope", "analyse", str(directory)]
    command += [] if simplify else ["--keep-all"]
    command += [] if jobs is None else ["--jobs", str(jobs)]
    for step in steps or ():
        command += ["--step", str(step)]
    process = Parser(command, environment, directory, quiet=not tell_end, told=not tell_begin)
    if not wait:
        process.begin_beside()
        return True
    process.begin()
    return process.finish()


def parser_is_here() -> bool:
    """Whether this interpreter can run the analysis side."""
    return _WAS_HERE or _looked_for()  # the script may have put it on its path since


def _looked_for() -> bool:
    new_enough = sys.version_info >= (3, 11)
    try:
        return new_enough and all(importlib.util.find_spec(name) for name in (*_NEEDED, "stepscope.deliver"))
    except ours(ImportError, ValueError):
        return False


#: Looked up once, as the script imports us: Python's own search drops an exception of the job's that comes meanwhile.
_WAS_HERE = _looked_for()


def _parser() -> tuple[str, dict[str, str]] | None:
    """The interpreter that parses, with its environment; None where the analysis side cannot be had."""
    if _state.installation is not None:
        python, path = _state.installation
        if os.access(python, os.X_OK):  # missing in some containers
            environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_THE_PARSER}
            environment.pop("PYTHONHOME", None)
            environment["PYTHONPATH"] = path
            return python, environment
    return (sys.executable, _environment()) if parser_is_here() else None


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_THE_PARSER}
    # The package that records is the one that parses, wherever the script put it, and nothing that lies beside it.
    before = environment.get("PYTHONPATH", "").split(os.pathsep)
    places = [_BOOTSTRAP, *(directory for directory in before if directory != _BOOTSTRAP)]
    environment["PYTHONPATH"] = os.pathsep.join(directory for directory in places if directory)
    return environment
