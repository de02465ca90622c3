"""``stepscope flops``: how much of the device's power is used."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stepscope.cli.ask import question


@question
def flops(
    by: Annotated[str, typer.Option(help="operator or shape: what to put together.")] = "operator",
    peak_tflops: Annotated[
        float | None, typer.Option(min=0, help="The device's peak, where the table has none.")
    ] = None,
    memory_gb_per_s: Annotated[float | None, typer.Option(min=0, help="Its memory bandwidth.")] = None,
) -> dict[str, Any]:
    """Show FLOPs per operator, achieved rate, roofline position and MFU."""
    return {"by": by, "peak_tflops": peak_tflops, "memory_gb_per_s": memory_gb_per_s}
