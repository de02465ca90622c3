"""Options that commands share; what they are for is said in the texts."""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepscope.errors import UsageError
from stepscope.facts import thresholds
from stepscope.texts import LANGUAGES, preferred_language

if TYPE_CHECKING:
    from stepscope.run import Run

_language: ContextVar[str | None] = ContextVar("language", default=None)


def language() -> str:
    """The language of this call: --lang, else the environment's."""
    return _language.get() or preferred_language()


def forget_language() -> None:
    """A new call begins; the language of one before is not its own."""
    _language.set(None)


def is_path(word: str | Path) -> bool:
    """Whether there is a file or directory of that name; a long query or change is no name at all."""
    try:
        return Path(word).exists()
    except (OSError, ValueError):
        return False


def _choose_language(value: str | None) -> str | None:
    if value is not None and value not in LANGUAGES:
        raise typer.BadParameter(f"choose one of {', '.join(LANGUAGES)}")
    _language.set(value)
    return value


def _check_form(value: str | None) -> str | None:
    if value not in (None, "text", "db"):
        raise typer.BadParameter("choose one of text, db")
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
Form = Annotated[str | None, one_of("text", "db", name="--source", callback=_check_form)]
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
    one_of(*LANGUAGES, name="--lang", callback=_choose_language, is_eager=True, show_default="by environment"),
]
