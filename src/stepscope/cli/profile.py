"""``stepscope profile -- CMD``: record a training script without a change to it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stepscope.cli.options import Language, language
from stepscope.profiler.settings.schedule import Schedule
from stepscope.profiler.starting.bounded_run import DEFAULT_LIMITS, DEFAULT_WINDOW

#: MindSpore starts its own profiler where this is set, so its options are taken over and the child does not see it.
_MINDSPORE_OPTIONS: Final = "MS_PROFILER_OPTIONS"
_OURS: Final = "STEPSCOPE_PROFILE"


def _shown(number: str) -> str:
    return str(DEFAULT_WINDOW[number])


def profile(
    command: Annotated[list[str], typer.Argument(metavar="-- CMD", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", "-o", show_default="data")] = None,
    whole: Annotated[bool, typer.Option("--all")] = False,
    skip_first: Annotated[int | None, typer.Option(min=0, show_default=_shown("skip_first"))] = None,
    wait: Annotated[int | None, typer.Option(min=0, show_default=_shown("wait"))] = None,
    warmup: Annotated[int | None, typer.Option(min=0, show_default=_shown("warmup"))] = None,
    active: Annotated[
        int | None,
        typer.Option(min=0, show_default=_shown("active")),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(min=0, show_default=_shown("repeat")),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1)] = DEFAULT_LIMITS["seconds"],
    megabytes: Annotated[float, typer.Option(min=1)] = DEFAULT_LIMITS["megabytes"],
    level: Annotated[int, typer.Option(min=0, max=2)] = 0,
    shapes: Annotated[bool, typer.Option("--shapes")] = False,
    stack: Annotated[bool, typer.Option("--stack")] = False,
    memory: Annotated[bool, typer.Option("--memory")] = False,
    data: Annotated[bool, typer.Option("--data")] = False,
    parse: Annotated[bool | None, typer.Option("--parse/--no-parse", show_default="parse")] = None,
    lang: Language = None,
) -> None:
    """Run a command and record a window of it, without changing the script. Optimizer updates mark the steps.

    The window ends by itself, and the training goes on without it. A script without optimizer updates is recorded for
    some seconds instead.
    """
    from stepscope.errors import UsageError
    from stepscope.texts import text

    if lang is not None:
        os.environ["STEPSCOPE_LANG"] = lang
    if shutil.which(command[0]) is None:
        raise UsageError("no_such_command", command=command[0])
    options = {"output_path": "data", "analyse": True, **taken_over(os.environ.get(_MINDSPORE_OPTIONS))}
    switches: dict[str, Any] = {
        "output_path": None if out is None else str(out),
        "profiler_level": f"Level{level}" if level else None,
        "record_shapes": shapes or None,
        "with_stack": stack or None,
        "profile_memory": memory or None,
        "data_process": data or None,
        "analyse": parse,
    }
    numbers = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
    options |= _given(switches) | _extent(whole, active, numbers, {"seconds": seconds, "megabytes": megabytes})
    if isinstance(options["output_path"], str):
        options["output_path"] = str(Path(options["output_path"]).absolute())  # wherever the script goes from here
    if is_out_of_reach(command):
        typer.echo(text("report.python_out_of_reach", language(), command=command[0]), err=True)
    typer.echo(announced(options), err=True)
    ours = {"launcher": os.getpid(), "parser": {"python": sys.executable, "path": os.environ.get("PYTHONPATH", "")}}
    try:
        os.execvpe(command[0], command, environment({**options, **ours}))
    except OSError as error:
        raise UsageError("command_not_started", command=command[0], reason=error.strerror or str(error)) from error


def _extent(
    whole: bool, active: int | None, numbers: dict[str, int | None], limits: dict[str, float]
) -> dict[str, Any]:
    """How much is recorded: all of it, or windows within limits; both at once cannot be asked for."""
    from stepscope.errors import UsageError

    if not whole and active != 0:
        return {"schedule": {**DEFAULT_WINDOW, **_given({**numbers, "active": active})}, "limits": limits}
    contradicting = [f"--{name.replace('_', '-')}" for name in _given({**numbers, "active": active or None})]
    if contradicting:
        raise UsageError("schedule_of_whole_run", options=", ".join(contradicting))
    return {"all": True}


def announced(options: dict[str, Any]) -> str:
    """What will be recorded, said before it begins."""
    from stepscope.texts import text

    output = options["output_path"]
    if options.get("all"):
        return text("report.recording_all", language(), output=output)
    plan = Schedule(**options["schedule"])
    skipped = plan.skip_first + plan.wait + plan.warmup
    return text(
        "report.recording_window" if plan.repeat == 1 else "report.recording_windows",
        language(),
        skipped=skipped,
        active=plan.active,
        repeat=plan.repeat or "∞",
        seconds=f"{options['limits']['seconds']:g}",
        megabytes=f"{options['limits']['megabytes']:g}",
        output=output,
    )


def is_out_of_reach(command: list[str]) -> bool:
    """Whether the command is a Python that is told to ignore its environment.

    >>> is_out_of_reach(["python3", "-uI", "x.py"]), is_out_of_reach(["python3", "x.py", "-I"])
    (True, False)
    """
    if not Path(command[0]).name.startswith("python"):
        return False
    for word in command[1:]:
        if not word.startswith("-") or word.startswith("--") or word[1:2] in "cmWX":
            return False
        if set("IES") & set(word):
            return True
    return False


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


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
    """The environment of the command: our options, and our start-up folder first on the path of every Python in it.

    That folder finds our package; the packages installed beside it are not the job's.
    """
    import stepscope

    package = Path(stepscope.__file__).parent
    paths = [str(package / "profiler" / "starting" / "bootstrap"), os.environ.get("PYTHONPATH", "")]
    child = {name: value for name, value in os.environ.items() if name != _MINDSPORE_OPTIONS}
    child["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    child[_OURS] = json.dumps(options)
    return child
