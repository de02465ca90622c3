"""``stepscope launches``: what the host did for the device."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stepscope.cli.ask import question


@question
def launches(
    gaps: Annotated[int, typer.Option(min=0, help="How many of the longest gaps to list.")] = 20,
) -> dict[str, Any]:
    """Show how the host feeds the device: launch latency, queue length, idle time by cause, gaps."""
    return {"gaps": gaps}
