"""Idle time in which the host compiled: no matter of dispatching, so two rules have to know it."""

from __future__ import annotations

from stepscope.analysis.launches import Launches
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.measures import RankTime


def compiling_us(run: RunContext, time: RankTime) -> float:
    """Idle time per counted step in which the host compiled."""
    launches: Launches | None = run.answer("launches")
    counted = set(time.steps)
    spent = sum(
        entry.idle_us
        for entry in (launches.activities if launches is not None else [])
        if entry.rank == time.rank and entry.step in counted and entry.activity == "compile"
    )
    return min(spent / len(counted), time.idle_by_cause.get("host", 0.0)) if counted else 0.0
