"""``stepscope operators``: what took the time."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stepscope.cli.ask import question


@question
def operators(
    by: Annotated[
        str, typer.Option(help="kernel, type, operator, shape, module, category or core: what to put together.")
    ] = "kernel",
    side: Annotated[str | None, typer.Option(help="host or device; both by default.")] = None,
    lane: Annotated[str | None, typer.Option(help="compute, communication, copy or all; compute by default.")] = None,
    search: Annotated[str | None, typer.Option(help="Only names that contain this.")] = None,
    search_operator: Annotated[str | None, typer.Option(help="Only what operators with such a name caused.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many rows.")] = None,
) -> dict[str, Any]:
    """Show what took the time: kernels and operators by name, type, shape, module, category or core."""
    return {"by": by, "side": side, "lane": lane, "search": search, "search_operator": search_operator, "limit": limit}
