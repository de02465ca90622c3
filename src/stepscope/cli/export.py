"""``stepscope export``: a run in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli import notes
from stepscope.cli.options import Captures, Engine, Form, Language, Ranks, Store, Window, language


def export(
    paths: Captures,
    to: Annotated[
        str,
        typer.Option(
            help="parquet (a directory of tables), chrome (for Perfetto, chrome://tracing) or cluster (the files that "
            "msprof-analyze writes about a cluster)."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File or directory to write; .gz compresses a trace.")],
    rank: Ranks = None,
    merge: Annotated[bool, typer.Option(help="chrome: write all ranks to one file, on one clock.")] = False,
    force: Annotated[bool, typer.Option(help="Replace existing output.")] = False,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Replace hosts, users and directories by host-1, user-1, dir-1 … in all names, arguments, stacks and "
            "notes. File names, line numbers and everything after site-packages stay.",
        ),
    ] = False,
    window: Window = None,
    source: Form = None,
    store: Store = None,
    engine: Engine = None,
    lang: Language = None,
) -> None:
    """Export a run as Parquet tables, as Chrome traces, one per rank or all ranks on one clock, or as cluster files."""
    from stepscope import deliver
    from stepscope.report import terminal
    from stepscope.run import load

    del lang
    deliver.check_target(to)
    run = load(paths, window=window, source=source, store=store, engine=engine)
    writing = deliver.export(run.store, to, out, captures=paths, ranks=rank, merge=merge, force=force, redact=redact)
    for written in writing:
        terminal.show_written(written, language())
    notes.show(run, [])
