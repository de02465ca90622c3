"""``stepscope demo``: record a real small training loop and look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from stepscope.cli.options import Language, Store, language

_STEPS: Final = """
SELECT rank, step, round((host_end_ns - host_start_ns) / 1000.0, 1) AS duration_us FROM steps ORDER BY rank, step
"""

# Self time: a slice less what lies directly inside it.
_SELF_TIME: Final = """
WITH inside AS (
    SELECT rank, parent AS slice, sum(dur_ns) AS inner_ns FROM slices WHERE parent IS NOT NULL GROUP BY ALL
), operators AS (
    SELECT name, dur_ns - coalesce(inner_ns, 0) AS self_ns
    FROM slices LEFT JOIN inside USING (rank, slice) WHERE kind = 'operator' AND step IS NOT NULL
)
SELECT name AS operator, count(*) AS calls, round(sum(self_ns) / 1000.0, 1) AS self_us,
       round(100.0 * sum(self_ns) / sum(sum(self_ns)) OVER (), 1) AS percent
FROM operators GROUP BY name ORDER BY self_us DESC LIMIT 12
"""


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the recorded trace.")] = Path("demo-output"),
    steps: Annotated[int, typer.Option(min=1, max=1000, help="Training steps to record.")] = 5,
    store: Store = None,
    lang: Language = None,
) -> None:
    """Record a real small training loop with PyTorch, read it, and show where its time goes."""
    from stepscope.cli.training_loop import record
    from stepscope.report import terminal
    from stepscope.run import load

    del lang
    trace = record(out, steps, lambda version: terminal.say("demo_recording", language(), steps=steps, version=version))
    run = load(trace, store=store)
    terminal.say("demo_steps", language())
    terminal.show_frame(run.sql(_STEPS))
    terminal.say("demo_where", language())
    terminal.show_frame(run.sql(_SELF_TIME))
    terminal.show_notes(run.notes, language())
    terminal.say("demo_next", language(), trace=trace)
