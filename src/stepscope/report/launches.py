"""Launches and idle time at a terminal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.launches import Launches
from stepscope.analysis.launches.types import Idle, StepLaunches
from stepscope.report.console import Console
from stepscope.report.tables import show_table
from stepscope.texts import text

_CAUSES: Final = {
    "host_us": "launches_cause_host",
    "kernel_us": "launches_cause_kernel",
    "collective_us": "launches_cause_collective",
    "data_us": "launches_cause_data",
    "other_us": "launches_cause_other",
}
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
_IDLE: Final = ("rank", "step", "idle_us", *_CAUSES, "after_sync_us", "gaps")
_GAPS: Final = ("rank", "step", "duration_us", "cause", "activity", "host_name", "sync_name", "next_name")
_LONGEST_NAME: Final = 60


def show(answer: Answer[Launches], lang: str) -> None:
    """A verdict per rank, then steps, idle time, gaps and what else was found."""
    data = answer.data
    console = Console(highlight=False)
    for rank in dict.fromkeys(entry.rank for entry in data.idle):
        own = [entry for entry in data.steps if entry.rank == rank and entry.launches]
        idle = [entry for entry in data.idle if entry.rank == rank]
        console.print(_verdict(rank, own, idle, lang), markup=False, soft_wrap=True)
    _table(data.steps if any(entry.launches for entry in data.steps) else [], "launches_steps_title", lang, _STEPS)
    _table(data.idle, "launches_idle_title", lang, _IDLE)
    _table(_all_steps(data.activities), "launches_activities_title", lang)
    _table(data.gaps, "launches_gaps_title", lang, _GAPS)
    _table(data.syncs, "launches_syncs_title", lang)
    _table(sorted(data.gc_pauses, key=lambda pause: -pause.duration_us), "launches_pauses_title", lang)
    _table(data.get_next, "launches_get_next_title", lang)


def _verdict(rank: int, steps: list[StepLaunches], idle: list[Idle], lang: str) -> str:
    """One sentence from the middle of all steps; warm-up is left out where there is more."""
    steps = [entry for entry in steps if not entry.warm_up] or steps
    whole = sum(entry.span_us for entry in idle)
    spent = {cause: sum(getattr(entry, cause) for entry in idle) for cause in _CAUSES}
    told: dict[str, Any] = {
        "rank": rank,
        "idle": f"{100 * sum(spent.values()) / whole:.1f}" if whole else "0.0",
        "cause": text(f"report.{_CAUSES[max(spent, key=lambda cause: spent[cause])]}", lang),
    }
    latencies = [entry.latency_median_us for entry in steps if entry.latency_median_us is not None]
    shares = [entry.host_bound_share for entry in steps if entry.host_bound_share is not None]
    if not latencies or not shares:
        return text("report.launches_idle_of_rank", lang, **told)
    bounds = [entry.bound for entry in steps]
    told["bound"] = text(f"report.{_BOUNDS[max(bounds, key=bounds.count)]}", lang)
    told["share"] = f"{100 * statistics.median(shares):.0f}"
    told["median"] = f"{statistics.median(latencies):,.1f}"
    return text("report.launches_of_rank", lang, **told)


def _all_steps(entries: Sequence[Any]) -> list[dict[str, Any]]:
    """Activities of all steps of a rank together."""
    total: dict[tuple[int, str], float] = {}
    for entry in entries:
        total[entry.rank, entry.activity] = total.get((entry.rank, entry.activity), 0.0) + entry.idle_us
    rows = [{"rank": rank, "activity": activity, "idle_us": spent} for (rank, activity), spent in total.items()]
    return sorted(rows, key=lambda row: (row["rank"], -row["idle_us"]))


def _table(entries: Sequence[Any], title: str, lang: str, columns: Sequence[str] | None = None) -> None:
    if not entries:
        return
    frame = pl.DataFrame([msgspec.to_builtins(entry) for entry in entries], infer_schema_length=None)
    names = [name for name in frame.columns if name.endswith("name")]
    shortened = frame.with_columns(pl.col(name).cast(pl.String).str.slice(0, _LONGEST_NAME) for name in names)
    show_table(shortened.select(columns or shortened.columns), lang, title=text(f"report.{title}", lang))
