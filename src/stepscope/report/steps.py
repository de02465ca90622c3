"""The step trace at a terminal."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.step_statistics import StepStatistics
from stepscope.report.console import Console
from stepscope.report.tables import show_table
from stepscope.texts import text

_SHOWN = (
    "rank",
    "step",
    "duration_us",
    "interval_us",
    "forward_backward_us",
    "tail_us",
    "computing_us",
    "exposed_communication_us",
    "exposed_copy_us",
    "free_us",
    "enclosing_us",
)
_MOST = 40


def show(answer: Answer[pl.DataFrame], lang: str) -> None:
    """A line per rank with median and p95, then the steps."""
    console = Console(highlight=False)
    statistics: list[StepStatistics] = answer.beside["statistics"]
    for entry in statistics:
        duration = next(spread for spread in entry.spreads if spread.field == "duration_us")
        line = text(
            "report.steps_of_rank",
            lang,
            rank=entry.rank,
            counted=entry.counted,
            median=f"{duration.median / 1000:,.3f}",
            p95=f"{duration.p95 / 1000:,.3f}",
        )
        console.print(line, markup=False, soft_wrap=True)
        apart = {
            "report.steps_warm_up": entry.warm_up_steps,
            "report.steps_incomplete": entry.incomplete_steps,
            "report.steps_other_mode": entry.other_mode_steps,
            "report.steps_outliers": entry.outlier_steps,
        }
        for key, named in apart.items():
            if named:
                numbers = ", ".join(map(str, named[:_MOST]))
                console.print("  " + text(key, lang, steps=numbers), markup=False, soft_wrap=True)
    show_table(_parts(answer.data), lang, most=_MOST)


def _parts(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns to show: enclosing only where the host computes, and it is part of free."""
    around = bool((rows["enclosing_us"].fill_null(0) > 0).any())
    return rows.select(name for name in _SHOWN if around or name != "enclosing_us")
