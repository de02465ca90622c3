"""When an operator of the host works by itself: its time without that of the calls inside it.

Those that may also wait have no time of their own while others communicate (``Enclosing``).

Vendor tools unite the intervals of device tasks. Where the host computes by itself, an operator around others is one
task for each stretch of its own time, so that this union is what our answers count as computing.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, difference, union
from stepscope.analysis.foundation.work import COMMUNICATION, host_calls
from stepscope.deliver.capture_directory.rank_data import RankData


def own_stretches(data: RankData) -> dict[int, list[tuple[int, int]]]:
    """Start and end of every stretch, by the slice of each operator that holds other calls."""
    if data.work.on_device:
        return {}
    wanted = ("slice", "track", "start_ns", "dur_ns", "step", "kind", "type", "name", "parent")
    calls = host_calls(data.store.scan("slices", [data.rank]).select(wanted))
    inner = calls.select("caller", "start_ns", end_ns=pl.col("start_ns") + pl.col("dur_ns")).drop_nulls("caller")
    inside = {caller: rows for (caller,), rows in inner.group_by(["caller"])}
    talking = _communication(data)
    stretches = {}
    around = calls.filter(~pl.col("leaf")).select("slice", "start_ns", "dur_ns", "computes")
    for slice_id, start, duration, computes in around.iter_rows():
        rows = inside[slice_id]
        held = union(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
        own = held.gaps(start, start + duration)
        own = own if computes else difference(own, talking.clipped(start, start + duration))
        stretches[slice_id] = list(zip(own.start.tolist(), own.end.tolist(), strict=True))
    return stretches


def _communication(data: RankData) -> Intervals:
    work = data.work
    chosen = work.of(COMMUNICATION)
    return (
        union(work.start[chosen], work.end[chosen])
        if chosen.any()
        else union(np.empty(0, np.int64), np.empty(0, np.int64))
    )
