"""The command line: one file per command, questions apart; errors become exit codes here and nowhere else."""

from __future__ import annotations

import io
import os
import sys
from functools import cache

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from stepscope.cli import (
    analyse,
    compare,
    demo,
    doctor,
    export,
    glance,
    ingest,
    mcp,
    profile,
    profiler_zip,
    report,
    simulate,
    skill,
    sql,
    trigger,
    view,
)
from stepscope.cli.ask import with_csv_target
from stepscope.cli.described import DescribedCommand
from stepscope.cli.options import Language, choose_language, language
from stepscope.cli.questions import CommandsAndQuestions
from stepscope.errors import StepscopeError, internal, is_panic

app = typer.Typer(
    name="stepscope",
    cls=CommandsAndQuestions,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
for command in (
    ingest.ingest,
    compare.compare,
    report.report,
    view.view,
    trigger.trigger,
    analyse.analyse,
    profiler_zip.profiler_zip,
    sql.sql,
    export.export,
    demo.demo,
    doctor.doctor,
    simulate.simulate,
    skill.skill,
    mcp.mcp,
):
    app.command(cls=DescribedCommand)(command)
# Called by a path alone; under its own name it would stand between questions that say more.
app.command(cls=DescribedCommand, hidden=True)(glance.glance)
# What follows the command to profile is that command's own.
app.command(cls=DescribedCommand, context_settings={"allow_interspersed_args": False})(profile.profile)


def _version(wanted: bool) -> None:
    if wanted:
        from stepscope.version import __version__

        typer.echo(f"stepscope {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True),
    lang: Language = None,
) -> None:
    """Records how a training job spends its time and tells its owner what to fix first."""


def main() -> None:
    """Entry point of the ``stepscope`` command."""
    choose_language(sys.argv[1:])
    if sys.argv[1:2] != ["profile"]:  # there NumPy is the job's own
        # Threads that nobody uses take a tenth of a second to start.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no Chinese shows question marks
    try:
        command = _built()
        names = command.list_commands(typer.Context(command))
        arguments = glance.with_command_for_paths(with_csv_target(sys.argv[1:]), names)
        sys.exit(command(arguments, standalone_mode=False))
    except StepscopeError as error:
        _fail(error.message(language()), error.exit_code)
    except TyperException as objection:
        _explain_usage(objection)
    except KeyboardInterrupt:
        _fail("", 130)
    except BrokenPipeError:
        # The reader of our output has gone, which is its right; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except SystemExit:
        raise
    except BaseException as error:
        if os.environ.get("STEPSCOPE_DEBUG") or not (isinstance(error, Exception) or is_panic(error)):
            raise
        _fail(internal(error).message(language()), 70)


@cache
def _built() -> TyperGroup:
    """All commands with their options. Making them takes longer than many an answer, so it is done once."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group


def _explain_usage(objection: TyperException) -> None:
    from stepscope.cli.wrong_usage import as_usage_error, asks_for_help

    if asks_for_help(objection):
        typer.echo(objection.message, err=True)
        sys.exit(2)
    error = as_usage_error(objection)
    _fail(error.message(language()), error.exit_code)


def _fail(message: str, code: int) -> None:
    if message:
        from stepscope.report.console import harmless

        typer.echo(f"stepscope: {harmless(message)}", err=True)
    sys.exit(code)
