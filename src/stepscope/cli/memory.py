"""``stepscope memory``: where memory goes."""

from __future__ import annotations

from typing import Annotated

import typer

from stepscope.cli.ask import CsvTarget, Explain, Steps, ask
from stepscope.cli.options import Capture, Form, Json, Language, Ranks, Store, Window


def memory(
    path: Capture,
    at: Annotated[
        int | None, typer.Option(help="What lives at this moment (ns of the rank's clock), not the peak.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="Only this device, e.g. cuda:0.")] = None,
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
    """Show memory curves, the peak and what lives there, categories and fragmentation."""
    del lang
    ask(
        "memory",
        path,
        rank=rank,
        step=step,
        window=window,
        source=source,
        store=store,
        json=json,
        csv=csv,
        explain=explain,
        at_ns=at,
        device=device,
    )
