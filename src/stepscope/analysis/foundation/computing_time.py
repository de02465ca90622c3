"""When a rank computed: the union of its compute slices."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.foundation.intervals import Intervals
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.work import work_of
from stepscope.store.run_store import RunStore


@cached_summary_per_rank
def computing_of(store: RunStore, rank: int) -> Intervals:
    """Compute on the device, or in operators of a host that computes by itself."""
    if not store.manifest.rows_of_rank("slices", rank):  # summaries alone
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    return work_of(store, rank).computing()
