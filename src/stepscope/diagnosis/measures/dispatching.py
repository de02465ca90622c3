"""Whether a host launches more slowly than others, or all alike.

Where all hosts launch too slowly, the device of the latest one waits for its host, and the devices of the others wait
for that rank in communication, while their hosts catch up. So idle time looks as if one host alone were slow; how long
the hosts themselves are busy tells that they are alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stepscope.analysis.foundation.dispatch_time import DISPATCH, dispatch_time
from stepscope.analysis.launches.types import Activity
from stepscope.facts.findings import finding_facts

if TYPE_CHECKING:
    from stepscope.diagnosis.context import RunContext
    from stepscope.diagnosis.measures.rank_time import RankTime


@dataclass(frozen=True)
class Dispatching:
    """Microseconds of a mean step that a host launches, also without calls that may have waited for a full queue, and
    that its device was idle meanwhile.
    """

    busy_us: float
    surely_busy_us: float
    idle_us: float


def dispatching_of(run: RunContext, time: RankTime) -> Dispatching | None:
    """Of the counted steps of a rank; None where its launches were not recorded."""
    launching = dispatch_time(run.store, time.rank)
    counted = np.isin(launching.step, time.steps)
    if not counted.any() or not launching.whole[counted].any():
        return None
    activities: list[Activity] = run.entries("launches", "activities", time.rank)
    steps = set(time.steps)
    idle = sum(entry.idle_us for entry in activities if entry.step in steps and entry.activity in DISPATCH)
    return Dispatching(
        busy_us=float(launching.whole[counted].mean()) / 1000,
        surely_busy_us=float(launching.without_long_calls[counted].mean()) / 1000,
        idle_us=idle / len(steps),
    )


def launches_like_others(run: RunContext, rank: int, others: Collection[int], excess_us: float) -> bool:
    """Whether a device waits for its host so much longer than others although that launches no more slowly.

    Only for waits for launching: how much of Python's time others could use is unknown.
    """
    mine = run.dispatching.get(rank)
    peers = [run.dispatching[other].surely_busy_us for other in others if other in run.dispatching]
    if mine is None or not peers:
        return False
    limits = finding_facts().host_bound
    longer = mine.busy_us - statistics.median(peers)
    return (
        mine.idle_us >= limits.least_share_of_excess * excess_us and longer < limits.least_share_of_excess * excess_us
    )


def as_busy_as(run: RunContext, ranks: Collection[int]) -> list[int]:
    """Other ranks whose hosts launch nearly all of the time, and as long as those of these ranks do."""
    level = statistics.fmean(run.dispatching[rank].busy_us for rank in ranks)
    limits = finding_facts()
    return [
        rank
        for rank, dispatching in run.dispatching.items()
        if rank not in ranks
        and dispatching.surely_busy_us >= (1 - limits.strength.mild_share) * level
        and dispatching.surely_busy_us >= limits.host_bound.least_busy_share * run.times[rank].period_us
    ]
