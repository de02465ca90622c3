"""Single communication calls at a terminal."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.collectives import CollectiveCall
from stepscope.report.kernel_labels import readable_name
from stepscope.report.tables import show_table

#: Left out first where the terminal is narrow; numbers that only other commands need come before times.
_SPARE: Final = ("slice", "start_ns", "call", "seq", "bytes", "kind", "skew_us", "transit_us")


def show(answer: Answer[pl.DataFrame], lang: str) -> None:
    """The longest calls, one row for each rank."""
    names = pl.Series("name", [readable_name(name) for name in answer.data["name"]], dtype=pl.String)
    show_table(answer.data.with_columns(names), CollectiveCall, lang, spare=_SPARE)
