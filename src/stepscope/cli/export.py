"""``stepscope export``: a run in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli import notes
from stepscope.cli.options import (
    Captures,
    Engine,
    Force,
    Form,
    Json,
    Language,
    Ranks,
    Redact,
    Store,
    Window,
    language,
    one_of,
    ranks_meant,
)
from stepscope.cli.written import tell_written


def export(
    paths: Captures,
    to: Annotated[str, one_of("parquet", "chrome", "cluster")],
    out: Annotated[Path, typer.Option("--out", "-o")],
    rank: Ranks = None,
    merge: Annotated[bool, typer.Option("--merge")] = False,
    force: Force = False,
    redact: Redact = False,
    window: Window = None,
    source: Form = None,
    store: Store = None,
    engine: Engine = None,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Export a run as Parquet tables, as Chrome traces, one per rank or all ranks on one clock, or as cluster files."""
    from stepscope import deliver
    from stepscope.report.progress import each_worked_for
    from stepscope.run import load

    del lang
    deliver.check_target(to)
    run = load(paths, window=window, source=source, store=store, engine=engine)
    ranks = ranks_meant(run, rank)
    writing = deliver.export(run.store, to, out, captures=paths, ranks=ranks, merge=merge, force=force, redact=redact)
    tell_written("export", each_worked_for(writing, language()), json)
    notes.show(run, [])
