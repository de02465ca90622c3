"""Has the analysis side write the documented files, in a process of its own, where it is installed."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from stepscope.profiler.foundation.messages import tell, warn
from stepscope.profiler.foundation.own_faults import ours
from stepscope.profiler.handover.parsers import Parser, one_stands_still

#: A parser must not profile itself, nor load what was preloaded into the training.
_NOT_FOR_THE_PARSER = ("MS_PROFILER_OPTIONS", "STEPSCOPE_PROFILE", "LD_PRELOAD", "KINETO_USE_DAEMON")
_NEEDED = ("polars", "numpy", "msgspec", "typer")


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
    if one_stands_still():
        warn("parsing_not_begun", directory=str(directory))
        return False
    # Python 3.11 knows -P: a file of the job's working directory must not stand for a module of the same name.
    command = [sys.executable, "-P", "-m", "stepscope", "analyse", str(directory)]
    command += [] if simplify else ["--keep-all"]
    command += [] if jobs is None else ["--jobs", str(jobs)]
    for step in steps or ():
        command += ["--step", str(step)]
    tell("parsing", directory=str(directory))
    parser = Parser(command, _environment(), directory)
    return parser.finish() if wait else True


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
