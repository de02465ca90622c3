"""``stepscope operators``: what took the time."""

from __future__ import annotations

from typing import Annotated

import typer

from stepscope.cli.ask import CsvTarget, Explain, Steps, ask
from stepscope.cli.options import Capture, Form, Json, Language, Ranks, Store, Window


def operators(
    path: Capture,
    by: Annotated[
        str, typer.Option(help="kernel, type, operator, shape, module, category or core: what to put together.")
    ] = "kernel",
    side: Annotated[str | None, typer.Option(help="host or device; both by default.")] = None,
    lane: Annotated[str | None, typer.Option(help="compute, communication, copy or all; compute by default.")] = None,
    search: Annotated[str | None, typer.Option(help="Only names that contain this.")] = None,
    search_operator: Annotated[str | None, typer.Option(help="Only what operators with such a name caused.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many rows.")] = None,
    rank: Ranks = None,
    step: Steps = None,
    window: Window = None,
    source: Form = None,
    store: Store = None,
    json: Json = False,
    csv: CsvTarget = None,
    explain: Explain = None,
    lang: Language = None,
) -> None:
    """Show what took the time: kernels and operators by name, type, shape, module, category or core."""
    del lang
    ask(
        "operators",
        path,
        rank=rank,
        step=step,
        window=window,
        source=source,
        store=store,
        json=json,
        csv=csv,
        explain=explain,
        by=by,
        side=side,
        lane=lane,
        search=search,
        search_operator=search_operator,
        limit=limit,
    )
