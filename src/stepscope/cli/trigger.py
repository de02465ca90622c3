"""``stepscope trigger``: have a running job record some of its steps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stepscope.cli.options import Json, Language, language

_SCHEMA: Final = "stepscope.trigger/1"


def trigger(
    cfg_path: Annotated[Path, typer.Argument(metavar="CFG_PATH", show_default=False)],
    start: Annotated[int | None, typer.Option(min=1)] = None,
    stop: Annotated[int | None, typer.Option(min=1)] = None,
    steps: Annotated[int | None, typer.Option(min=1)] = None,
    off: Annotated[bool, typer.Option("--off")] = False,
    level: Annotated[int | None, typer.Option(min=0, max=2)] = None,
    shapes: Annotated[bool | None, typer.Option()] = None,
    stack: Annotated[bool | None, typer.Option()] = None,
    memory: Annotated[bool | None, typer.Option()] = None,
    parse: Annotated[bool | None, typer.Option(show_default="parse")] = None,
    background: Annotated[bool | None, typer.Option(show_default="background")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    wait: Annotated[float, typer.Option(min=0)] = 0.0,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Record some steps of a running job. Options that you leave out keep their current values."""
    from stepscope.errors import NoAnswerError, UsageError
    from stepscope.profiler.dynamic.trigger import answers, ask, config_path, directories, is_settled, known_jobs
    from stepscope.texts import text

    del lang
    if [steps is not None, start is not None or stop is not None, off].count(True) != 1:
        raise UsageError("trigger_what")
    if steps is None and not off and (start is None or stop is None or stop < start):
        raise UsageError("trigger_range")
    switches: dict[str, Any] = {
        "profiler_level": None if level is None else f"Level{level}",
        "record_shapes": shapes,
        "with_stack": stack,
        "profile_memory": memory,
        "analyse": parse,
        "analyse_mode": None if background is None else int(background),
        "prof_path": None if out is None else str(out.absolute()),
    }
    given = {name: value for name, value in switches.items() if value is not None}
    try:
        request = ask(cfg_path, start=start, stop=stop, steps=steps, **given)
    except OSError as error:
        raise UsageError("trigger_cannot_write", path=str(cfg_path), reason=error.strerror or str(error)) from error
    statuses = answers(cfg_path, request, wait)
    recorded = directories(statuses, request)
    if json:
        _print_document(
            {"config": str(config_path(cfg_path)), "request": request, "jobs": statuses, "directories": recorded}
        )
    else:
        _show(cfg_path, statuses, recorded)
        if not wait and not known_jobs(cfg_path):
            typer.echo(text("report.trigger_nobody", language(), path=config_path(cfg_path).parent), err=True)
    if wait and not statuses:
        raise NoAnswerError("trigger_no_answer", seconds=wait)
    if statuses and not off and all(status["state"] in ("missed", "rejected") for status in statuses):
        raise NoAnswerError("trigger_missed")
    if wait and not all(is_settled(status) for status in statuses):
        raise NoAnswerError("trigger_not_done", seconds=wait)


def _print_document(answer: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps({"schema": _SCHEMA, "data": answer}, ensure_ascii=False))


def _show(cfg_path: Path, statuses: list[dict[str, Any]], recorded: list[str]) -> None:
    from stepscope.profiler.dynamic.trigger import config_path
    from stepscope.report.console import echo
    from stepscope.texts import text

    echo(text("report.trigger_written", language(), path=config_path(cfg_path)))
    for status in statuses:
        windows = ", ".join(f"{window['start']}-{window['stop']}" for window in status["windows"]) or "-"
        ranks = len(status["ranks"])
        echo(
            text(
                "report.trigger_answer",
                language(),
                host=status["host"],
                pid=status["pid"],
                state=status["state"],
                windows=windows,
                ranks=ranks,
            )
        )
    for directory in recorded:
        echo(text("report.trigger_directory", language(), directory=directory))
    if recorded:
        import shlex

        command = f"stepscope diagnose {shlex.join(recorded)}"
        echo(text("report.trigger_next", language(), command=command))
