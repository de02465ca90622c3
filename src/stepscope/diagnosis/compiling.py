"""Idle time in which the host compiled: no matter of dispatching, so two rules have to know it."""

from __future__ import annotations

from stepscope.analysis.launches.types import Activity
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.measures import RankTime


def compiling_us(run: RunContext, time: RankTime) -> float:
    """Idle time per counted step in which the host compiled."""
    counted = set(time.steps)
    activities: list[Activity] = run.entries("launches", "activities", time.rank)
    spent = sum(entry.idle_us for entry in activities if entry.step in counted and entry.activity == "compile")
    return min(spent / len(counted), time.idle_by_cause.get("host", 0.0)) if counted else 0.0
