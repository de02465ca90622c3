"""How commands describe themselves: sentences from the texts in the language of the call, and examples that run."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

from typer.core import TyperCommand

from stepscope.cli.help_layout import TranslatedLayout, section
from stepscope.cli.options import language
from stepscope.questions.registry import QUESTIONS
from stepscope.texts import entries

#: Under these headings, in this order; questions stand where the dots are.
GROUPS: Final = {
    "ask": ("diagnose", ...),
    "share": ("view", "compare", "report", "export", "sql", "ingest"),
    "record": ("profile", "trigger", "analyse", "profiler-zip", "doctor"),
    "more": ("demo", "simulate", "skill", "mcp"),
}
_FIRST_CLAUSE: Final = re.compile(r"(?s)^\s*(.+?)(?:: |：|, such as|，例如|。|\. |\.?$)")


class DescribedCommand(TranslatedLayout, TyperCommand):
    """A command whose help comes from the texts; its code holds none."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options with their sentences, for help and for completion."""
        return with_sentences(str(self.name), super().get_params(ctx))

    def get_short_help_str(self, limit: int = 45) -> str:
        """Never cut in the middle of a clause."""
        del limit
        return first_clause(sentence(str(self.name)))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        self.help = sentence(str(self.name))
        super().format_help_text(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        del ctx
        write_examples(str(self.name), formatter)


def sentence(command: str) -> str:
    """What a command does."""
    entry = entries("question").get(command) or entries("command")[command]
    return entry[language()]


def first_clause(text: str) -> str:
    """What stands before the details.

    >>> first_clause("Show a run at a glance: the mean step of each rank."), first_clause("Show copies.")
    ('Show a run at a glance', 'Show copies')
    """
    match = _FIRST_CLAUSE.match(text)
    return match[1] if match else text


def with_sentences(command: str, params: list[Any]) -> list[Any]:
    """The same parameters, each with its sentence."""
    for param in params:
        known = _option_sentence(command, str(param.name))
        if known is not None:
            param.help = known
    return params


def _option_sentence(command: str, option: str) -> str | None:
    of_commands, of_questions = entries("command_option"), entries("option")
    parameter = option
    if command in QUESTIONS:
        own = QUESTIONS[command].parameters
        names = {"paths" if each.words else each.option: each.name for each in own}  # words follow the paths
        parameter = names.get(option, option)
    entry = (
        of_questions.get(f"{command}.{parameter}")
        or of_commands.get(f"{command}.{option}")
        or of_commands.get(option)
        or of_questions.get(option)
    )
    return entry[language()] if entry else None


def write_examples(command: str, formatter: Any, title: str = "examples") -> None:
    """Lines to copy, each whole, however narrow the terminal."""
    with section(formatter, title):
        for line in examples(command):
            formatter.write(f"  {line}\n")


def examples(command: str) -> list[str]:
    """The examples of a command; a question has at least one."""
    told = _examples().get(command, [])
    return told or ([f"stepscope {command} traces/"] if command in QUESTIONS else [])


@cache
def _examples() -> dict[str, list[str]]:
    return tomllib.loads((Path(__file__).parent / "examples.toml").read_text("utf-8"))
