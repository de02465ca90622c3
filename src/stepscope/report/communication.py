"""Communication at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.communication import Communication
from stepscope.report.kernel_labels import readable_name
from stepscope.report.tables import frame_of, show_table
from stepscope.texts import text

_OPERATIONS: Final = (
    "name",
    "group",
    "kind",
    "members",
    "count",
    "total_us",
    "mean_us",
    "transit_us",
    "wait_us",
    "bytes",
    "algorithm_gb_per_s",
    "bus_gb_per_s",
)
#: Left out first where the terminal is narrow.
_SPARE: Final = ("algorithm_gb_per_s", "mean_us", "kind", "members", "bytes")


def show(answer: Answer[Communication], lang: str) -> None:
    """What was called, who waited for whom, links, groups, calls that some never joined, and clocks."""
    data = answer.data
    _table(data.operations, "communication_operations_title", lang, _OPERATIONS, _SPARE)
    _table(data.waits, "communication_waits_title", lang)
    _table(data.links, "communication_links_title", lang)
    _table(data.groups, "communication_groups_title", lang, spare=("captured", "origin", "confidence"))
    _table(data.unjoined, "communication_unjoined_title", lang)
    _table(data.clocks, "communication_clocks_title", lang)


def _table(
    entries: Sequence[Any], title: str, lang: str, columns: Sequence[str] | None = None, spare: Sequence[str] = ()
) -> None:
    if not entries:
        return
    frame = frame_of(entries)
    if "name" in frame.columns:
        frame = frame.with_columns(pl.Series("name", [readable_name(name) for name in frame["name"]], dtype=pl.String))
    chosen = frame.select(columns or frame.columns)
    show_table(chosen, type(entries[0]), lang, title=text(f"report.{title}", lang), spare=spare)
