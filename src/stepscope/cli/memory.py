"""``stepscope memory``: where memory goes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stepscope.cli.ask import question


@question
def memory(
    at: Annotated[
        int | None, typer.Option(help="What lives at this moment (ns of the rank's clock), not the peak.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Only this device, e.g. cuda:0.")] = None,
) -> dict[str, Any]:
    """Show memory curves, the peak and what lives there, categories and fragmentation."""
    return {"at_ns": at, "device": device}
