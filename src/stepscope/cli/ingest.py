"""``stepscope ingest``: read a capture into the store."""

from __future__ import annotations

from typing import Annotated

import typer

from stepscope.cli.options import Captures, Engine, Form, Json, Language, Store, Window, language


def ingest(
    paths: Captures,
    window: Window = None,
    source: Form = None,
    store: Store = None,
    engine: Engine = None,
    again: Annotated[bool, typer.Option("--again")] = False,
    notes: Annotated[bool, typer.Option("--notes")] = False,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Read a capture into the store, and report speed and what was dropped, repaired or missing.

    A stored run is checked for damage."""
    from stepscope.engine.engines import executor_of
    from stepscope.engine.ingest import ingest as read_in
    from stepscope.report import json_document, terminal
    from stepscope.report.progress import progress_bar
    from stepscope.run import Run

    del lang
    with progress_bar() as progress, executor_of(engine) as executor:
        done = read_in(paths, window, store, progress, executor, again=again, form=source, check=True)
    run = Run(done)
    data = _summary(done)
    if json:
        json_document.write("ingest", run.describe(), run.notes, data, language())
    else:
        terminal.show_ingest(run.describe(), data, language())
        (terminal.show_every_note if notes else terminal.show_notes)(run.notes, language())


def _summary(done: object) -> dict[str, object]:
    from stepscope.engine.ingest import Ingested
    from stepscope.store.schema import TABLES

    assert isinstance(done, Ingested)
    manifest = done.store.manifest
    read = {part.rank for part in done.read}
    size = sum(part.bytes for part in done.read)
    return {
        "events": sum(part.events for part in manifest.parts),
        "bytes": sum(part.bytes for part in manifest.parts),
        "read_bytes": size,
        "seconds": round(done.seconds, 3),
        "mb_per_s": round(size / 1e6 / done.seconds, 1) if read else None,
        "store": str(done.store.directory),
        "ranks": [
            {
                "rank": part.rank,
                "source": part.source,
                "reader": part.reader,
                "events": part.events,
                "bytes": part.bytes,
                "seconds": round(part.seconds, 3),
                "read_now": part.rank in read,
            }
            for part in manifest.parts
        ],
        "tables": {name: manifest.rows(name) for name in TABLES if manifest.rows(name)},
    }
