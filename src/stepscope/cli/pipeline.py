"""``stepscope pipeline``: the input pipeline."""

from __future__ import annotations

from stepscope.cli.ask import CsvTarget, Explain, Steps, ask
from stepscope.cli.options import Capture, Form, Json, Language, Ranks, Store, Window


def pipeline(
    path: Capture,
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
    """Show the input pipeline: operators with queue use, starving steps, and which stage to change."""
    del lang
    ask(
        "pipeline",
        path,
        rank=rank,
        step=step,
        window=window,
        source=source,
        store=store,
        json=json,
        csv=csv,
        explain=explain,
    )
