"""The time from the end of a launch to the start of what it launched, and whether it grows over a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.launches.queue import curves
from stepscope.arrays import NONE
from stepscope.facts.launches import launches_facts

HOST_BOUND: Final = "host_bound"
DEVICE_BOUND: Final = "device_bound"
MIXED: Final = "mixed"


def latencies(work: Launched) -> pl.DataFrame:
    """One row per launch: its step, time, latency (never negative), and whether it found its stream empty."""
    first = work.first
    return pl.DataFrame(
        {
            "step": work.step[first],
            "time_ns": work.call_start[first],
            # A kernel may start before its call returns, and clocks are aligned to some microseconds only.
            "latency_ns": np.maximum(work.start[first] - work.call_end[first], 0),
            "found_empty": work.found_empty[first],
            "call_ns": work.call_end[first] - work.call_start[first],
        }
    )


def by_step(work: Launched, waiting_share: Mapping[int, float]) -> pl.DataFrame:
    """Per step: count, median, p95, slope, share of launches that found their stream empty, class, queue.

    ``waiting_share``: how much of each step the device waited for its host.
    """
    rows = latencies(work).filter(pl.col("step") != NONE)
    latency, time = pl.col("latency_ns").cast(pl.Float64), pl.col("time_ns").cast(pl.Int64)
    from_first = (time - time.min().over("step")).cast(pl.Float64)
    centred = rows.with_columns(x=from_first - from_first.mean().over("step"), y=latency - latency.mean().over("step"))
    per_step = centred.group_by("step").agg(
        launches=pl.len(),
        latency_median_us=in_microseconds(latency.median()),
        latency_p95_us=in_microseconds(latency.quantile(0.95, "linear")),
        latency_max_us=in_microseconds(latency.max()),
        spread=(pl.col("x") ** 2).sum(),
        together=(pl.col("x") * pl.col("y")).sum(),
        host_bound_share=pl.col("found_empty").mean(),
    )
    slope = pl.when(pl.col("spread") > 0).then(pl.col("together") / pl.col("spread"))
    bound = [
        bound_class(share, launches, waiting_share.get(step, 0.0))
        for step, share, launches in per_step.select("step", "host_bound_share", "launches").iter_rows()
    ]
    return per_step.select(
        pl.exclude("spread", "together"), latency_slope=slope, bound=pl.Series(bound, dtype=pl.String)
    ).join(_counts(work), on="step", how="left")


def bound_class(host_bound_share: float, launches: int, waiting_share: float = 0.0) -> str | None:
    """Whether launches find their stream empty or queue; a device that also waits for its host is bound by both.

    >>> bound_class(0.9, 500), bound_class(0.1, 500), bound_class(0.5, 500), bound_class(1.0, 3)
    ('host_bound', 'device_bound', 'mixed', None)
    >>> bound_class(0.1, 500, waiting_share=0.3)
    'mixed'
    """
    limits = launches_facts().trend
    if launches < limits.least_launches:
        return None
    if host_bound_share >= limits.host_bound_from_share:
        return HOST_BOUND
    has_stock = host_bound_share <= limits.device_bound_to_share
    return DEVICE_BOUND if has_stock and waiting_share < limits.device_bound_below_waiting_share else MIXED


def _counts(work: Launched) -> pl.DataFrame:
    """Slices with a known launch per step, and the queue of all streams together."""
    known = np.flatnonzero((work.call != NONE) & (work.step != NONE))
    steps, kernels = np.unique(work.step[known], return_counts=True)
    queue = curves(work.step[known], work.call_start[known], work.start[known])
    lengths = {int(key): (mean, most) for key, mean, most in zip(queue.key, queue.mean, queue.most, strict=True)}
    return pl.DataFrame(
        {
            "step": steps.astype(np.int64),
            "kernels": kernels.astype(np.int64),
            "queue_mean": [lengths[step][0] for step in steps.tolist()],
            "queue_max": [int(lengths[step][1]) for step in steps.tolist()],
        },
        schema={"step": pl.Int64, "kernels": pl.Int64, "queue_mean": pl.Float64, "queue_max": pl.Int64},
    )
