"""Pauses of Python's garbage collector, and how much of them the device was idle."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.launches.syncs import at_step
from stepscope.analysis.launches.types import Pause


def pause_rows(rank: int, work: Launched, marks: pl.DataFrame) -> list[Pause]:
    """All pauses in time order; collections inside others are one pause."""
    host = work.host
    pauses = np.flatnonzero((host.of_category("gc")) & (host.end > host.start))
    pauses = pauses[np.lexsort((-host.end[pauses], host.start[pauses]))]
    reach = np.maximum.accumulate(host.end[pauses])
    outer = np.concatenate(([True], host.end[pauses][1:] > reach[:-1])) if len(pauses) else np.empty(0, np.bool_)
    pauses = pauses[outer]
    start, end = host.start[pauses], host.end[pauses]
    busy = union(work.start, work.end).covered_within(start, end)
    steps = at_step(marks, start).to_list()
    return [
        Pause(rank, step, int(host.slice[row]), int(first), int(last - first) / 1000, int(last - first - taken) / 1000)
        for row, step, first, last, taken in zip(pauses, steps, start, end, busy, strict=True)
    ]
