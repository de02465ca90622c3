"""The critical path at a terminal."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.critical_path import BoundShare, CriticalPath, NameShare
from stepscope.report.console import Console
from stepscope.report.kernel_labels import distinct_names
from stepscope.report.rank_lines import of_first_ranks
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import text


def show(answer: Answer[list[CriticalPath]], lang: str) -> None:
    """Per path what bounds it, all shares, and its longest parts."""
    console = Console(highlight=False)
    for path in of_first_ranks(answer.data, console, lang):
        largest = path.by_bound[0]
        line = text(
            "report.path_of_step",
            lang,
            rank=path.rank,
            step=path.step,
            length=f"{path.length_us / 1000:,.3f}",
            bound=text(f"path_bound.{largest.bound}", lang),
            share=f"{100 * largest.share:.1f}",
        )
        console.print(line, markup=False, soft_wrap=True)
        show_table(frame_of(path.by_bound), BoundShare, lang)
        longest = frame_of(path.by_name)
        shown = longest.with_columns(pl.Series("name", distinct_names(longest["name"].to_list()), dtype=pl.String))
        show_table(shown, NameShare, lang, title=text("report.path_parts_title", lang))
