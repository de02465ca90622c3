"""``stepscope skill``: what a coding assistant should know about Stepscope."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli.options import Language, language


def skill(
    install: Annotated[
        Path | None, typer.Option("--install", metavar="DIR", help="Write the skill below this directory of skills.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace a skill that is there.")] = False,
    lang: Language = None,
) -> None:
    """Print the skill that teaches a coding assistant to use Stepscope, or install it.

    Example: stepscope skill --install .agents/skills
    """
    from stepscope.assistants import skill_files
    from stepscope.report import terminal

    del lang
    if install is None:
        typer.echo(skill_files.main_page(), nl=False)
        return
    skill_files.install(install, force=force)
    terminal.show_written(install / skill_files.NAME, language())
