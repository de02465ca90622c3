"""How long the host of a rank is busy launching in each step, whether its device waits for that or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analysis.foundation.host_activity import CATEGORIES
from stepscope.analysis.foundation.idle import idle_of
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.arrays import NONE, Int64s
from stepscope.facts.launches import launches_facts
from stepscope.store.run_store import RunStore

#: What a host does to launch work, as activities.
DISPATCH: Final = ("launch", "operator", "runtime")
_DISPATCH: Final = [CATEGORIES.index(name) for name in DISPATCH]


@dataclass(frozen=True)
class DispatchTime:
    """Nanoseconds by step, with and without calls so long that they may have waited for room in a full queue."""

    step: Int64s
    whole: Int64s
    without_long_calls: Int64s


@cached_summary_per_rank
def dispatch_time(store: RunStore, rank: int) -> DispatchTime:
    """Operators and calls on threads that launch, without what else they do meanwhile (waiting, collecting garbage)."""
    marks, launched = step_marks(store, rank), idle_of(store, rank).launched
    step, start, end = (marks[name].to_numpy() for name in ("step", "host_start_ns", "host_end_ns"))
    host, calls = launched.host, np.unique(launched.call[launched.call != NONE])
    threads = [host.loop, *(thread for thread in np.unique(host.thread[calls]).tolist() if thread != host.loop)]
    spent = host.split([np.full(len(step), thread, np.int64) for thread in threads], start, end)
    whole = spent[:, _DISPATCH].sum(axis=1)
    long = calls[host.end[calls] - host.start[calls] > launches_facts().statistics.longest_usual_call_us * 1000]
    in_long_calls = union(host.start[long], host.end[long]).covered_within(start, end)
    return DispatchTime(step, whole, np.maximum(whole - in_long_calls, 0))
