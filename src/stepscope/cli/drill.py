"""``stepscope drill``: from a module to its slices."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stepscope.cli.ask import question


@question
def drill(
    by: Annotated[
        str | None, typer.Option(help="module, category, operator, type, core or kernel; from the top without.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The row to look into.")] = None,
    module: Annotated[str | None, typer.Option(help="Only within this module.")] = None,
    operator: Annotated[str | None, typer.Option(help="Only within this operator.")] = None,
    lane: Annotated[str | None, typer.Option(help="compute, communication, copy or all.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many slices.")] = 100,
) -> dict[str, Any]:
    """Show what a row of operators consists of: module, operators, kernels, slices."""
    return {"by": by, "name": name, "module": module, "operator": operator, "lane": lane, "limit": limit}
