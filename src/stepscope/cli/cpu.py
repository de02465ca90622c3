"""``stepscope cpu``: CPU use over time."""

from __future__ import annotations

from stepscope.cli.ask import CsvTarget, Explain, Steps, ask
from stepscope.cli.options import Capture, Form, Json, Language, Ranks, Store, Window


def cpu(
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
    """Show CPU use of machine, process, workers and pipeline operators, aligned with steps."""
    del lang
    ask(
        "cpu",
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
