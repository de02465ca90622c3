"""``stepscope demo``: record a real small training loop and look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepscope.cli import notes
from stepscope.cli.options import Language, Store, language


def demo(
    out: Annotated[Path, typer.Option("--out", "-o")] = Path("demo-output"),
    steps: Annotated[int, typer.Option(min=1, max=1000)] = 5,
    store: Store = None,
    lang: Language = None,
) -> None:
    """Record a small PyTorch training loop and show where its time goes."""
    from stepscope.cli.training_loop import record
    from stepscope.report import operators as operators_report
    from stepscope.report import steps as steps_report
    from stepscope.report import summary as summary_report
    from stepscope.report import terminal
    from stepscope.run import load

    del lang
    trace = record(out, steps, lambda version: terminal.say("demo_recording", language(), steps=steps, version=version))
    run = load(trace, store=store)
    asked = {name: run.ask(name) for name in ("summary", "steps")}
    asked["operators"] = run.ask("operators", by="operator", limit=12)
    for name, report in (("summary", summary_report), ("steps", steps_report), ("operators", operators_report)):
        terminal.say("demo_asks", language(), command=name)
        report.show(asked[name], language())
    notes.show(run, asked["steps"].notes)
    terminal.say("demo_next", language(), trace=trace)
