"""``stepscope PATH`` alone: the verdict, the first findings, and where to look next."""

from __future__ import annotations

from stepscope.cli import notes
from stepscope.cli.options import Captures, Form, Json, Language, Store, Window, is_path, language


def glance(
    paths: Captures,
    window: Window = None,
    source: Form = None,
    store: Store = None,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Show the verdict on a capture, its three most important findings and where to look next: stepscope PATH."""
    from stepscope.report import diagnose, json_document
    from stepscope.report.progress import working
    from stepscope.run import load

    del lang
    run = load(paths, window=window, source=source, store=store)
    with working(language()):
        answer = run.ask("diagnose")
    if json:
        json_document.write("diagnose", run.describe(), [*run.notes, *answer.notes], answer.plain(), language())
        return
    diagnose.show_glance(answer.data, [str(path) for path in paths], language())
    notes.show(run, [])


def with_command_for_paths(arguments: list[str], commands: list[str]) -> list[str]:
    """A path in the place of a command asks for the verdict on it; a file named like a command does not.

    >>> with_command_for_paths(["summary", "."], ["summary"]), with_command_for_paths([".", "--json"], ["summary"])
    (['summary', '.'], ['glance', '.', '--json'])
    """
    first = arguments[0] if arguments else "-"
    if first.startswith("-") or first in commands or not is_path(first):
        return arguments
    return ["glance", *arguments]
