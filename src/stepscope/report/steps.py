"""The step trace at a terminal."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.step_statistics import StepStatistics
from stepscope.analysis.steps import Step
from stepscope.report.console import Console
from stepscope.report.rank_lines import of_first_ranks
from stepscope.report.sparkline import beside
from stepscope.report.tables import show_table
from stepscope.texts import text
from stepscope.texts.numbers import ranges

_SHOWN = (
    "rank",
    "step",
    "period_us",
    "duration_us",
    "interval_us",
    "forward_backward_us",
    "tail_us",
    "computing_us",
    "exposed_communication_us",
    "exposed_copy_us",
    "idle_us",
    "overlap_us",
)
#: Left out first where the terminal is narrow: they do not add up to the period.
_SPARE = ("interval_us", "forward_backward_us", "tail_us", "duration_us")
_MOST = 40


def show(answer: Answer[pl.DataFrame], lang: str) -> None:
    """A line per rank with median and p95, then the steps."""
    console = Console(highlight=False)
    statistics: list[StepStatistics] = answer.beside["statistics"]
    for entry in of_first_ranks(statistics, console, lang):
        period = next(spread for spread in entry.spreads if spread.field == "period_us")
        line = text(
            "report.steps_of_rank",
            lang,
            rank=entry.rank,
            counted=entry.counted,
            median=f"{period.median / 1000:,.3f}",
            p95=f"{period.p95 / 1000:,.3f}",
        )
        series = answer.data.filter(pl.col("rank") == entry.rank)["period_us"].to_list()
        console.print(line + beside(console, series), markup=False, soft_wrap=True)
        apart = {
            "report.steps_warm_up": entry.warm_up_steps,
            "report.steps_incomplete": entry.incomplete_steps,
            "report.steps_other_mode": entry.other_mode_steps,
            "report.steps_outliers": entry.outlier_steps,
        }
        for key, named in apart.items():
            if named:
                console.print("  " + text(key, lang, steps=ranges(named)), markup=False, soft_wrap=True)
    show_table(_parts(answer.data), Step, lang, most=_MOST, spare=_SPARE, one_unit=True)


def _parts(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns to show: the parts add up to the period, and one that is 0 in ordinary runs is left out there."""
    overlapping = bool((rows["overlap_us"].fill_null(0) != 0).any())
    return rows.select(name for name in _SHOWN if overlapping or name != "overlap_us")
