"""The command line, called within the test's own process."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import typer

from stepscope.cli import app

#: English, on a wide terminal.
ENGLISH = {"LANG": "en_US.UTF-8", "LC_ALL": "", "LC_MESSAGES": "", "STEPSCOPE_LANG": "", "COLUMNS": "200"}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Command(Protocol):
    def __call__(self, *arguments: object) -> Outcome: ...


def command_names() -> list[str]:
    """All commands as ``--help`` lists them."""
    group = typer.main.get_group(app)
    context = typer.Context(group)
    return [name for name in group.list_commands(context) if not _hidden(group, context, name)]


def _hidden(group: Any, context: Any, name: str) -> bool:
    return bool(getattr(group.get_command(context, name), "hidden", False))
