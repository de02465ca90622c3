"""``stepscope flops``: how much of the device's power is used."""

from __future__ import annotations

from typing import Annotated

import typer

from stepscope.cli.ask import CsvTarget, Explain, Steps, ask
from stepscope.cli.options import Capture, Form, Json, Language, Ranks, Store, Window


def flops(
    path: Capture,
    by: Annotated[str, typer.Option(help="operator or shape: what to put together.")] = "operator",
    peak_tflops: Annotated[
        float | None, typer.Option(min=0, help="The device's peak, where the table has none.")
    ] = None,
    memory_gb_per_s: Annotated[float | None, typer.Option(min=0, help="Its memory bandwidth.")] = None,
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
    """Show FLOPs per operator, achieved rate, roofline position and MFU."""
    del lang
    ask(
        "flops",
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
        peak_tflops=peak_tflops,
        memory_gb_per_s=memory_gb_per_s,
    )
