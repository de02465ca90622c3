"""Every question as a command. A command is made when it is called, so that a call imports its own question only."""

from __future__ import annotations

import difflib
import inspect
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer.core import TyperGroup

from stepscope.cli.ask import ask
from stepscope.cli.described import (
    GROUPS,
    DescribedCommand,
    sentence,
    with_sentences,
    write_examples,
)
from stepscope.cli.help_layout import TranslatedLayout, section
from stepscope.cli.options import is_path
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.questions.faces import shaped
from stepscope.questions.registry import QUESTIONS

if TYPE_CHECKING:
    from stepscope.analysis.foundation.question import Parameter

_LARGEST: Final = (1 << 63) - 1
#: What a word has that names no file.
_SIGN: Final = re.compile("[*=]")


class CommandsAndQuestions(TranslatedLayout, TyperGroup):
    """The commands that have a file, and behind the first of them the questions."""

    def list_commands(self, ctx: Any) -> list[str]:
        first, *others = super().list_commands(ctx)
        return [first, *QUESTIONS, *others]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return QuestionCommand(cmd_name) if cmd_name in QUESTIONS else super().get_command(ctx, cmd_name)

    def get_params(self, ctx: Any) -> list[Any]:
        return with_sentences("stepscope", super().get_params(ctx))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        self.help = sentence("stepscope")
        super().format_help_text(ctx, formatter)
        write_examples("stepscope", formatter, "start")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Under headings, each with what it does in a few words."""
        listed = {name for names in GROUPS.values() for name in names}
        known = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rest = [name for name, command in known.items() if name not in listed and not command.hidden]
        for group, names in GROUPS.items():
            rows = [name for each in names for name in (rest if each is ... else [each])]
            with section(formatter, group):
                formatter.write_dl([(name, known[name].get_short_help_str()) for name in rows])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A word that is no command is a mistyped one, or a path that is not there."""
        name = args[0]
        if ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(name, self.list_commands(ctx), n=3)
        if near:
            raise UsageError("mistyped_command", name=name, near=", ".join(near))
        if any(sign in name for sign in "/\\."):
            raise UnreadableInputError("no_such_path", path=name)
        raise UsageError("unknown_command", name=name)


class QuestionCommand(DescribedCommand):
    """A command that knows its name and its sentence; its options come from the declaration of the question."""

    def __init__(self, name: str) -> None:
        super().__init__(name, rich_markup_mode=None)
        self.question = name

    @cached_property
    def _full_command(self) -> Any:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command()(_command(self.question))
        return typer.main.get_command(app)

    def get_params(self, ctx: Any) -> list[Any]:
        return with_sentences(self.question, self._full_command.get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        return self._full_command.invoke(ctx)


def _command(name: str) -> Any:
    """The paths first, then the question's own options, then those that all questions take."""
    question = QUESTIONS[name]
    paths, *shared = inspect.signature(ask, eval_str=True).parameters.values()
    options = [each for each in shared if each.default is not each.empty and (each.name != "step" or question.by_step)]
    names = {each.option: each.name for each in question.parameters if not each.words}
    words = next((each.name for each in question.parameters if each.words), None)

    def command(**given: Any) -> None:
        chosen = {names[option]: _within_64_bits(given.pop(option)) for option in names}
        if words is not None:
            given["paths"], chosen[words] = _paths_and_words(given["paths"])
        ask(**given, question=name, chosen=chosen)

    own = [_option(each) for each in question.parameters if not each.words]
    first = paths if words is None else _with_words(paths, words)
    return shaped(command, name.replace("-", "_"), "", [first, *own, *options])


def _within_64_bits(value: Any) -> Any:
    """Who asks for more rows than any table can have wants all of them."""
    return min(value, _LARGEST) if isinstance(value, int) else value


def _with_words(paths: inspect.Parameter, words: str) -> inspect.Parameter:
    """The paths, with words behind them."""
    argument = typer.Argument(metavar=f"PATH [{words.upper()}]", show_default=False)
    return paths.replace(annotation=Annotated[list[Path], argument])


def _paths_and_words(given: list[Path]) -> tuple[list[Path], list[str]]:
    """The first is a path; from the next one on that is none and looks like a change, all are words."""
    behind = range(1, len(given))
    first = next((index for index in behind if not is_path(given[index]) and _SIGN.search(str(given[index]))), None)
    return (given, []) if first is None else (given[:first], [str(word) for word in given[first:]])


def _option(parameter: Parameter) -> inspect.Parameter:
    kind: Any = Literal[parameter.choices] if parameter.choices else parameter.type
    if parameter.default is None:
        kind = kind | None
    annotation = Annotated[kind, typer.Option(min=parameter.least)]
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(parameter.option, keyword, annotation=annotation, default=parameter.default)
