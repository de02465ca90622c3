"""``stepscope profile -- CMD``: record a training script without a change to it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stepscope.cli.options import Language

#: MindSpore starts its own profiler where this is set, so its options are taken over and the child does not see it.
_MINDSPORE_OPTIONS: Final = "MS_PROFILER_OPTIONS"
_OURS: Final = "STEPSCOPE_PROFILE"


def profile(
    command: Annotated[list[str], typer.Argument(help="The command, behind --.", metavar="-- CMD", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the captures.")] = Path("data"),
    skip_first: Annotated[int, typer.Option(min=0, help="Steps to leave out at the beginning.")] = 0,
    wait: Annotated[int, typer.Option(min=0, help="Steps to wait before each window.")] = 0,
    warmup: Annotated[int, typer.Option(min=0, help="Steps to warm up before each window.")] = 0,
    active: Annotated[int, typer.Option(min=0, help="Steps to record in a window; 0: the whole run.")] = 0,
    repeat: Annotated[int, typer.Option(min=0, help="Windows; 0: as many as there are.")] = 1,
    level: Annotated[int, typer.Option(min=0, max=2, help="Profiler level.")] = 0,
    shapes: Annotated[bool, typer.Option("--shapes", help="Record shapes of operators.")] = False,
    stack: Annotated[bool, typer.Option("--stack", help="Record Python stacks.")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Record memory.")] = False,
    data: Annotated[bool, typer.Option("--data", help="Record the input pipeline.")] = False,
    parse: Annotated[bool, typer.Option(help="Write the documented files at the end.")] = True,
    lang: Language = None,
) -> None:
    """Run a command and record it: steps are found from optimizer steps, nothing in the script changes."""
    from stepscope.errors import UsageError

    if lang is not None:
        os.environ["STEPSCOPE_LANG"] = lang
    if shutil.which(command[0]) is None:
        raise UsageError("no_such_command", command=command[0])
    options = taken_over(os.environ.get(_MINDSPORE_OPTIONS))
    asked: dict[str, Any] = {
        "output_path": str(out.absolute()),
        "profiler_level": f"Level{level}" if level else None,
        "record_shapes": shapes or None,
        "with_stack": stack or None,
        "profile_memory": memory or None,
        "data_process": data or None,
        "analyse": parse,
    }
    if active:
        numbers = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
        asked["schedule"] = numbers
    options.update({name: value for name, value in asked.items() if value is not None})
    os.execvpe(command[0], command, environment(options))


def taken_over(text: str | None) -> dict[str, Any]:
    """The options of ``MS_PROFILER_OPTIONS``; a wrong text is an error here, where somebody reads it."""
    from stepscope.errors import UsageError

    if not text:
        return {}
    try:
        options = json.loads(text)
    except ValueError as error:
        raise UsageError("bad_profiler_options", reason=str(error)) from error
    if not isinstance(options, dict):
        raise UsageError("bad_profiler_options", reason="not an object")
    options.pop("start", None)
    return options


def environment(options: dict[str, Any]) -> dict[str, str]:
    """The environment of the command: our options, and our start-up folder first on the path of every Python in it."""
    import stepscope

    package = Path(stepscope.__file__).parent
    places = [str(package / "profiler" / "bootstrap"), os.environ.get("PYTHONPATH", ""), str(package.parent)]
    child = {name: value for name, value in os.environ.items() if name != _MINDSPORE_OPTIONS}
    child["PYTHONPATH"] = os.pathsep.join(place for place in places if place)
    child[_OURS] = json.dumps(options)
    return child
