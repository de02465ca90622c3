"""Options that commands share."""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

from stepscope.errors import UsageError
from stepscope.facts import thresholds
from stepscope.texts import LANGUAGES, preferred_language

_language: ContextVar[str | None] = ContextVar("language", default=None)


def language() -> str:
    """The language of this call: --lang, else the environment's."""
    return _language.get() or preferred_language()


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


Captures = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Trace files or directories; all of them together are one run.",
        show_default=False,
    ),
]
Window = Annotated[
    str | None, typer.Option(help="Which capture to read if a directory holds several; the newest by default.")
]
Store = Annotated[
    Path | None, typer.Option(help="Directory for the data Stepscope has read; your cache directory by default.")
]
Form = Annotated[
    str | None,
    typer.Option(
        "--source",
        help="Which form to read if an Ascend capture has both: text or db; the more complete one by default.",
        callback=_check_form,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        help="Where ranks are read: local (processes of this machine, the default) or dask=ADDRESS (a Dask scheduler, "
        "such as dask=tcp://10.0.0.5:8786).",
        show_default=False,
    ),
]
Ranks = Annotated[list[int] | None, typer.Option("--rank", help="Show only this rank; repeat for several.")]
Parallel = Annotated[
    str | None,
    typer.Option(
        metavar="PLAN",
        help="Parallel plan, such as tp=8,pp=4 or tp=2,dp=4,order=tp-cp-pp-dp; remembered for this capture until auto.",
    ),
]
Groups = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File with the ranks of each parallel group by dimension, or a communication_group.json; remembered, too.",
    ),
]
Thresholds = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML file with limits of your own, such as findings.strength.mild_share = 0.06 (docs/thresholds.md).",
        callback=_use_thresholds,
        is_eager=True,
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Language = Annotated[
    str | None,
    typer.Option(
        "--lang", help="Language: en or zh.", callback=_choose_language, is_eager=True, show_default="by environment"
    ),
]
