"""Launch statistics: kernels shorter than their launch, calls that take long, launches that wait long."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.launches.latency import latencies
from stepscope.analysis.launches.types import Statistics
from stepscope.arrays import NONE
from stepscope.facts.launches import launches_facts


def statistics_rows(rank: int, work: Launched) -> list[Statistics]:
    """One entry per step. A call that launches many slices (a graph) is compared with all of them together."""
    limits = launches_facts().statistics
    longest_call, longest_delay = limits.longest_usual_call_us * 1000, limits.longest_usual_delay_us * 1000
    known = work.call != NONE
    device = np.zeros(len(work.host.slice), np.int64)
    np.add.at(device, work.call[known], (work.end - work.start)[known])
    call, usual = pl.col("call_ns"), pl.col("call_ns") <= longest_call
    per_step = (
        latencies(work)
        .with_columns(device_ns=pl.Series(device[work.call[work.first]]))
        .filter(pl.col("step") != NONE)
        .group_by("step")
        .agg(
            launches=pl.len(),
            short_kernels=((pl.col("device_ns") < call) & usual).sum(),
            long_calls=(~usual).sum(),
            delayed=(pl.col("latency_ns") > longest_delay).sum(),
            call=call.sum(),
            device=pl.col("device_ns").sum(),
        )
        .sort("step")
    )
    return [
        Statistics(rank, step, launches, short, long, delayed, called / 1000, busy / 1000)
        for step, launches, short, long, delayed, called, busy in per_step.iter_rows()
    ]
