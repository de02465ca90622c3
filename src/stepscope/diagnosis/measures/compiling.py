"""Time in which the host compiled, which two rules need because it is not dispatching."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.foundation.host_activity.read import host_of
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.foundation.work import does_work_on_device
from stepscope.analysis.launches.types import Activity
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.measures.rank_time import RankTime


def compiling_us(run: RunContext, time: RankTime) -> float:
    """Idle time per counted step in which the host compiled."""
    counted = set(time.steps)
    activities: list[Activity] = run.entries("launches", "activities", time.rank)
    spent = sum(entry.idle_us for entry in activities if entry.step in counted and entry.activity == "compile")
    return min(spent / len(counted), time.idle_by_cause.get("host", 0.0)) if counted else 0.0


def compiling_on_processor_us(run: RunContext, time: RankTime) -> float:
    """Where the host computes by itself, compiling takes its time, idle or not; 0 where there is a device."""
    if does_work_on_device(run.store, time.rank) or not time.steps:
        return 0.0
    host = host_of(run.store, time.rank)
    compiles = host.of_category("compile")
    periods = periods_of(run.store, time.rank)
    counted = np.isin(periods.step, time.steps)
    inside = host.where(compiles).covered_within(periods.start[counted], periods.end[counted])
    return float(inside.sum()) / 1000 / len(time.steps)
