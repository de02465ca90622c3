"""Launches and idle time at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.launches import Launches
from stepscope.analysis.launches.types import RankLaunches
from stepscope.report.console import Console
from stepscope.report.kernel_labels import readable_name
from stepscope.report.rank_lines import of_first_ranks
from stepscope.report.tables import cell, frame_of, show_table
from stepscope.texts import text
from stepscope.texts.numbers import duration

_CAUSES: Final = ("data", "host", "sync", "gc", "collective", "dependency", "profiler", "unknown")
_BOUNDS: Final = {
    "host_bound": "launches_host_bound",
    "device_bound": "launches_device_bound",
    "mixed": "launches_mixed",
    None: "launches_too_few",
}
_STEPS: Final = (
    "rank",
    "step",
    "launches",
    "latency_median_us",
    "latency_p95_us",
    "latency_slope",
    "host_bound_share",
    "bound",
    "queue_mean",
    "queue_max",
)
_IDLE: Final = (
    "rank",
    "step",
    "idle_us",
    *(f"{cause}_us" for cause in _CAUSES),
    "gaps",
)
_GAPS: Final = ("rank", "step", "duration_us", "cause", "activity", "host_name", "sync_name", "next_name")


def show(answer: Answer[Launches], lang: str) -> None:
    """A verdict per rank, then steps, idle time, gaps and what else was found."""
    data = answer.data
    console = Console(highlight=False)
    for entry in of_first_ranks(data.ranks, console, lang):
        console.print(_verdict(entry, lang), markup=False, soft_wrap=True)
    launched = any(entry.launches for entry in data.steps)
    _table(data.steps if launched else [], "launches_steps_title", lang, _STEPS, one_unit=True)
    _table(data.idle, "launches_idle_title", lang, _IDLE, one_unit=True)
    _table(data.rank_activities, "launches_activities_title", lang)
    # Of all ranks together: the table is cut after its first rows.
    _table(sorted(data.gaps, key=lambda gap: -gap.duration_us), "launches_gaps_title", lang, _GAPS)
    _table(sorted(data.syncs, key=lambda call: -call.total_us), "launches_syncs_title", lang)
    _table(sorted(data.gc_pauses, key=lambda pause: -pause.duration_us), "launches_pauses_title", lang)
    _table(data.get_next, "launches_get_next_title", lang)


def _verdict(entry: RankLaunches, lang: str) -> str:
    """One sentence on all steps of a rank."""
    idle = cell(entry.idle_share, unit="%")
    cause = text(f"idle_cause.{entry.cause}", lang)
    why = "" if idle == cell(0.0, unit="%") else text("report.launches_why", lang, cause=cause)
    told: dict[str, Any] = {"rank": entry.rank, "idle": idle, "why": why}
    if entry.latency_median_us is None or entry.host_bound_share is None:
        return text("report.launches_idle_of_rank", lang, **told)
    told["bound"] = text(f"report.{_BOUNDS[entry.bound]}", lang)
    told["share"] = f"{100 * entry.host_bound_share:.0f}"
    told["median"] = duration(entry.latency_median_us)
    return text("report.launches_of_rank", lang, **told)


def _table(
    entries: Sequence[Any], title: str, lang: str, columns: Sequence[str] | None = None, one_unit: bool = False
) -> None:
    if not entries:
        return
    frame = frame_of(entries)
    names = [name for name in frame.columns if name.endswith("name")]
    shortened = frame.with_columns(_short(frame[name]) for name in names)
    chosen = shortened.select(columns or shortened.columns)
    show_table(chosen, type(entries[0]), lang, title=text(f"report.{title}", lang), one_unit=one_unit)


def _short(names: pl.Series) -> pl.Series:
    return pl.Series(names.name, [None if name is None else readable_name(name) for name in names], dtype=pl.String)
