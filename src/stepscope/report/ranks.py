"""Ranks of a job at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster.rank_rows import RankRow
from stepscope.analysis.ranks import Ranks
from stepscope.report.tables import frame_of, show_table

_COLUMNS: Final = (
    "rank",
    "host",
    "dp",
    "tp",
    "pp",
    "ep",
    "cp",
    "period_us",
    "computing_us",
    "exposed_communication_us",
    "idle_us",
    "wait_us",
    "caused_wait_us",
    "delay_us",
    "flops_per_s",
    "peak_memory_bytes",
    "expert_tokens",
    "outliers",
)


def show(answer: Answer[Ranks], lang: str) -> None:
    """The ranks as one table; columns of which nothing is known, or in which all are 0, are left out."""
    table_of_ranks(answer.data.ranks, lang)


def table_of_ranks(rows: Sequence[RankRow], lang: str, title: str | None = None) -> None:
    """The columns that tell something."""
    frame = frame_of(rows, _COLUMNS)
    frame = frame.with_columns(pl.col("outliers").cast(pl.List(pl.String)))
    known = [name for name in frame.columns if name == "rank" or _tells(frame[name])]
    show_table(frame.select(known), RankRow, lang, title=title, one_unit=True)


def _tells(column: pl.Series) -> bool:
    if column.dtype == pl.List:
        return bool((column.list.len() > 0).any())
    nothing = ["", "0", "0.0"]
    return bool((~column.cast(pl.String).is_in(nothing)).fill_null(False).any())
