"""``stepscope sql``: a read-only question of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli import notes
from stepscope.cli.ask import STANDARD_OUTPUT, CsvTarget
from stepscope.cli.options import Captures, Form, Json, Language, Store, Window, check_one_form, is_path, language
from stepscope.errors import UsageError


def _is_query(value: str) -> str:
    """The last word is the query; where it was forgotten, the last path stands in its place."""
    if is_path(value):
        raise UsageError("sql_query_missing", path=value)
    return value


def sql(
    paths: Captures,
    query: Annotated[str, typer.Argument(metavar="QUERY", callback=_is_query, is_eager=True)],
    window: Window = None,
    source: Form = None,
    store: Store = None,
    json: Json = False,
    csv: CsvTarget = None,
    lang: Language = None,
) -> None:
    """Query the tables of a run with SQL: stepscope sql PATH 'SELECT kind, count(*) FROM slices GROUP BY kind'."""
    from stepscope.analysis.answer import Answer
    from stepscope.report import csv_tables, json_document, terminal
    from stepscope.run import load

    del lang
    check_one_form(json=json, csv=csv is not None)
    run = load(paths, window=window, source=source, store=store)
    result = run.sql(query)
    if json:
        json_document.write("sql", run.describe(), run.notes, result.to_dicts(), language())
        return
    if csv is not None:
        target = None if csv == STANDARD_OUTPUT else Path(csv)
        for written in csv_tables.write(csv_tables.tables("sql", Answer(result)), target):
            terminal.show_written(written, language())
    else:
        terminal.show_frame(result)
    notes.show(run, [])
