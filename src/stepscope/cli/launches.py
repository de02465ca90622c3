"""``stepscope launches``: what the host did for the device."""

from __future__ import annotations

from typing import Annotated

import typer

from stepscope.cli.ask import CsvTarget, Explain, Steps, ask
from stepscope.cli.options import Capture, Form, Json, Language, Ranks, Store, Window


def launches(
    path: Capture,
    gaps: Annotated[int, typer.Option(min=0, help="How many of the longest gaps to list.")] = 20,
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
    """Show how the host feeds the device: launch latency, queue length, idle time by cause, gaps."""
    del lang
    ask(
        "launches",
        path,
        rank=rank,
        step=step,
        window=window,
        source=source,
        store=store,
        json=json,
        csv=csv,
        explain=explain,
        gaps=gaps,
    )
