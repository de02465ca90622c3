"""``stepscope drill``: from a module to its slices."""

from __future__ import annotations

from typing import Annotated

import typer

from stepscope.cli.ask import CsvTarget, Explain, Steps, ask
from stepscope.cli.options import Capture, Form, Json, Language, Ranks, Store, Window


def drill(
    path: Capture,
    by: Annotated[
        str | None, typer.Option(help="module, category, operator, type, core or kernel; from the top without.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The row to look into.")] = None,
    module: Annotated[str | None, typer.Option(help="Only within this module.")] = None,
    operator: Annotated[str | None, typer.Option(help="Only within this operator.")] = None,
    lane: Annotated[str | None, typer.Option(help="compute, communication, copy or all.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many slices.")] = 100,
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
    """Show what a row of operators consists of: module, operators, kernels, slices."""
    del lang
    ask(
        "drill",
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
        name=name,
        module=module,
        operator=operator,
        lane=lane,
        limit=limit,
    )
