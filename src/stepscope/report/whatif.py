"""What-if at a terminal."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.whatif import AppliedChange, WhatIf, WhatIfStep
from stepscope.report.console import Console
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import text


def show(answer: Answer[WhatIf], lang: str) -> None:
    """What it would gain, how well the replay fits, what was changed, and all steps."""
    console, data = Console(highlight=False), answer.data
    if data.changes:
        key = "report.whatif_line" if data.gain_us >= 0 else "report.whatif_line_longer"
        line = text(
            key,
            lang,
            period=f"{data.period_us / 1000:,.3f}",
            changed=f"{data.changed_us / 1000:,.3f}",
            gain=f"{abs(data.gain_us) / 1000:,.3f}",
            share=f"{100 * abs(data.gain_share):.1f}",
        )
        console.print(line, markup=False, soft_wrap=True)
    fits = text(
        "report.whatif_error",
        lang,
        error=f"{100 * data.replay_error_share:.2f}",
        unexplained=f"{100 * data.unexplained_share:.1f}",
    )
    console.print(fits, markup=False, soft_wrap=True)
    if data.changes:
        shown = [(each.change, ", ".join(each.names), each.recorded_us) for each in data.changes]
        show_table(pl.DataFrame(shown, schema=["change", "names", "recorded_us"], orient="row"), AppliedChange, lang)
    show_table(frame_of(data.steps), WhatIfStep, lang)
