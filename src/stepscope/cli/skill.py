"""``stepscope skill``: what a coding assistant should know about Stepscope."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.options import Force, Json, Language
from stepscope.cli.written import tell_written


def skill(
    install: Annotated[Path | None, typer.Option("--install", metavar="DIR")] = None,
    force: Force = False,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Print the skill that teaches a coding assistant to use Stepscope, or install it."""
    from stepscope.assistants import skill_files
    from stepscope.report import json_document

    del lang
    if install is not None:
        skill_files.install(install, force=force)
        tell_written("skill", [install / skill_files.NAME], json)
    elif json:
        json_document.write_plain("skill", {"name": skill_files.NAME, "text": skill_files.main_page()})
    else:
        typer.echo(skill_files.main_page(), nl=False)
