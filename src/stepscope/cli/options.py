"""Options that commands share; what they are for is said in the texts."""

from __future__ import annotations

import os
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stepscope.errors import UsageError
from stepscope.facts import thresholds
from stepscope.texts import LANGUAGES, preferred_language

if TYPE_CHECKING:
    from stepscope.run import Run

#: In which of its forms an Ascend capture is read.
_FORMS: Final = ("text", "db")

_language: ContextVar[str | None] = ContextVar("language", default=None)


def language() -> str:
    """The language of this call: --lang, else the environment's."""
    return _language.get() or preferred_language()


def choose_language(arguments: list[str]) -> None:
    """A new call begins: its language, also for the case that nothing else of it can be understood.

    What stands behind ``--`` belongs to another command.
    """
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    asked = [after for word, after in pairwise([*own, ""]) if word == "--lang"]
    asked += [word.removeprefix("--lang=") for word in own if word.startswith("--lang=")]
    _language.set(next((each for each in asked if each in LANGUAGES), None))


def is_path(word: str | Path) -> bool:
    """Whether there is a file or directory of that name; a long query or change is no name at all."""
    try:
        return Path(word).exists()
    except (OSError, ValueError):
        return False


def _check_language(value: str | None) -> str | None:
    if value is not None:
        if value not in LANGUAGES:
            raise UsageError("not_a_choice", name="--lang", choices=", ".join(LANGUAGES))
        _language.set(value)
    return value


def _check_form(value: str | None) -> str | None:
    if value not in (None, *_FORMS):
        raise UsageError("not_a_choice", name="--source", choices=", ".join(_FORMS))
    return value


def _use_thresholds(value: Path | None) -> Path | None:
    if value is not None or thresholds.ENVIRONMENT in os.environ:
        try:
            thresholds.use(value or Path(os.environ[thresholds.ENVIRONMENT]))
        except thresholds.UnusableThresholdsError as error:
            raise UsageError(error.code, **error.params) from None
    return value


def check_ranks(value: list[str] | None) -> list[str] | None:
    """Refuse what no run could know before anything is read."""
    from stepscope.questions.rank_choice import pieces_of

    pieces_of(value or [])
    return value


def check_one_form(**wanted: bool) -> None:
    """Refuse options of which only one could be followed; the other would be ignored without a word."""
    given = [f"--{name}" for name, is_given in wanted.items() if is_given]
    if len(given) > 1:
        raise UsageError("one_form", options=", ".join(given))


def ranks_meant(run: Run, choice: list[str] | None) -> list[int] | None:
    """What --rank means in a run; None where it was not given."""
    from stepscope.questions.rank_choice import chosen_ranks

    return chosen_ranks(run.store, choice) if choice else None


def one_of(*words: str, name: str | None = None, **further: Any) -> Any:
    """An option with a few values, which the help lists and the shell completes; who reads it checks them."""
    names = () if name is None else (name,)
    return typer.Option(*names, metavar="|".join(words), autocompletion=lambda: list(words), **further)


Captures = Annotated[list[Path], typer.Argument(metavar="PATH", show_default=False)]
Window = Annotated[str | None, typer.Option()]
Store = Annotated[Path | None, typer.Option()]
Form = Annotated[str | None, one_of(*_FORMS, name="--source", callback=_check_form)]
Engine = Annotated[str | None, typer.Option(metavar="ENGINE", show_default=False)]
Ranks = Annotated[list[str] | None, typer.Option("--rank", metavar="RANKS", callback=check_ranks)]
Parallel = Annotated[str | None, typer.Option(metavar="PLAN")]
Groups = Annotated[Path | None, typer.Option(metavar="FILE")]
Thresholds = Annotated[
    Path | None, typer.Option(metavar="FILE", callback=_use_thresholds, is_eager=True, show_default=False)
]
Json = Annotated[bool, typer.Option("--json")]
Force = Annotated[bool, typer.Option("--force")]
Redact = Annotated[bool, typer.Option("--redact")]
Language = Annotated[
    str | None,
    one_of(*LANGUAGES, name="--lang", callback=_check_language, is_eager=True, show_default=False),
]
