"""A job as a whole at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster import Cluster
from stepscope.report.console import Console
from stepscope.report.tables import cell, show_table
from stepscope.texts import text


def show(answer: Answer[Cluster], lang: str) -> None:
    """The slowdown in one sentence, then by rank, stage and operation."""
    slowdown = answer.data.slowdown
    if slowdown is None:
        return
    sentence = text(
        "report.cluster_total",
        lang,
        total=cell(slowdown.total),
        measured=cell(slowdown.measured_us, unit="ms"),
        ideal=cell(slowdown.ideal_us, unit="ms"),
        error=cell(slowdown.replay_error_share, unit="%"),
        ranks=", ".join(map(str, slowdown.worst_ranks)),
        worst=cell(slowdown.worst_ranks_share, unit="%"),
        last=cell(slowdown.last_stage_share, unit="%"),
    )
    Console(highlight=False).print(sentence, markup=False, soft_wrap=True)
    _table(slowdown.by_rank, text("report.cluster_ranks_title", lang), lang)
    _table(slowdown.by_stage, text("report.cluster_stages_title", lang), lang)
    _table(slowdown.by_operation, text("report.cluster_operations_title", lang), lang)


def _table(entries: Sequence[msgspec.Struct], title: str, lang: str) -> None:
    frame = pl.DataFrame([msgspec.to_builtins(entry) for entry in entries], infer_schema_length=None)
    show_table(frame, type(entries[0]), lang, title=title)
