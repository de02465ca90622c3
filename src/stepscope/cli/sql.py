"""``stepscope sql``: a read-only question of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from stepscope.cli.options import Capture, Csv, Form, Json, Language, Store, Window, language


def sql(
    path: Capture,
    query: Annotated[str, typer.Argument(help="One SELECT over the tables of the run, see docs/schema.md.")],
    window: Window = None,
    source: Form = None,
    store: Store = None,
    json: Json = False,
    csv: Csv = False,
    lang: Language = None,
) -> None:
    """Answer a SELECT over the tables of the run, e.g. 'SELECT kind, count(*) FROM slices GROUP BY kind'."""
    from stepscope.report import json_document, terminal
    from stepscope.run import load

    del lang
    run = load(path, window=window, source=source, store=store)
    result = run.sql(query)
    if json:
        json_document.write("sql", run.describe(), run.notes, result.to_dicts(), language())
        return
    if csv:
        terminal.show_csv(result)
    else:
        terminal.show_frame(result)
    terminal.show_notes(run.notes, language())
