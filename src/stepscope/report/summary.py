"""A run at a glance at a terminal."""

from __future__ import annotations

from stepscope.analysis.answer import Answer
from stepscope.analysis.summary import RankSummary, Summary
from stepscope.report.console import Console
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import text
from stepscope.texts.numbers import ranges

# Shown where there is any.
_SELDOM = ("overlap_us", "before_window_us", "profiler_overhead_us")
_NAMES = ("host", "device_name")
_SHOWN = (
    "rank",
    *_NAMES,
    "steps",
    "period_us",
    "period_p95_us",
    "period_max_us",
    "computing_us",
    "exposed_communication_us",
    "exposed_copy_us",
    "idle_us",
    *_SELDOM,
)


def show(answer: Answer[Summary], lang: str) -> None:
    """The three parts of the step among all ranks, then the mean step of each rank."""
    console = Console(highlight=False)
    parts = answer.data.delimitation
    if parts is not None:
        for part, key in (
            (parts.computing, "report.summary_computing"),
            (parts.communication, "report.summary_communication"),
            (parts.free, "report.summary_free"),
        ):
            line = text(key, lang, share=f"{100 * part.share:.1f}")
            if len(answer.data.ranks) > 1:
                line = text("report.summary_spread", lang, line=line, spread=f"{100 * part.spread_share:.1f}")
            console.print(line, markup=False, soft_wrap=True)
            if part.ranks:
                line = text("report.summary_ranks", lang, ranks=ranges(part.ranks))
                console.print("  " + line, markup=False, soft_wrap=True)
    absent = [name for name in (*_SELDOM, *_NAMES) if not any(getattr(entry, name) for entry in answer.data.ranks)]
    shown = [name for name in _SHOWN if name not in absent]
    show_table(
        frame_of(answer.data.ranks, shown),
        RankSummary,
        lang,
        most=64,
        spare=("period_max_us", *_NAMES),
        one_unit=True,
    )
