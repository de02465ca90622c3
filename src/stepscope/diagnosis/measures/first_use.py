"""What only the first use of a device costs: its context, libraries, code that is loaded when it first runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.foundation.idle import idle_of
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.work import does_work_on_device
from stepscope.arrays import Bools
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.facts.findings import finding_facts


@dataclass(frozen=True)
class FirstUse:
    """Idle time of the only step in which the host was in such calls; those that allocate, too; the longest call."""

    idle_us: float
    allocating_us: float
    longest: str
    longest_us: float


def first_use_of(run: RunContext, time: RankTime) -> FirstUse | None:
    """Where steps can be compared, the first ones are warm-up and do not count; a capture of one step may be all of it.

    Calls of the runtime that block are no part of it: they may wait for the device as long as it works.
    """
    if len(time.steps) != 1 or not does_work_on_device(run.store, time.rank):
        return None
    idle = idle_of(run.store, time.rank)
    host = idle.host
    length = host.end - host.start
    limit_ns = finding_facts().first_use.least_call_ms * 1_000_000
    setting_up = host.of("runtime") & ~host.of_category("sync") & (length >= limit_ns)
    if not setting_up.any():
        return None
    gaps = idle.gaps
    counted = np.isin(idle.periods.step[gaps.period], time.steps)
    waited = union(gaps.start[counted], gaps.end[counted])

    def idle_us(chosen: Bools) -> float:
        calls = host.where(chosen)
        return min(
            float(waited.covered_within(calls.start, calls.end).sum()) / 1000, time.idle_by_cause.get("host", 0.0)
        )

    own_ns = np.where(setting_up, waited.covered_within(host.start, host.end), -1)
    longest = int(np.argmax(own_ns))
    return FirstUse(
        idle_us(setting_up),
        idle_us(setting_up & host.of_category("allocation")),
        str(host.name[longest]),
        float(own_ns[longest]) / 1000,
    )
