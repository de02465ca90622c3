"""The time of each step for rates: until the device has done what the step launched, also where the host runs ahead."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.arrays import Int64s


def step_times(marks: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """``step``, ``duration_ns`` and ``warm_up`` of each mark, in time order.

    A step ends when host and device are done with it and starts when the one before ended, so that no time belongs to
    two steps. Before the first, the device may still do work of the time before the capture.
    """
    host_start, host_end = marks["host_start_ns"].to_numpy(), marks["host_end_ns"].to_numpy()
    device_end = marks["device_end_ns"].fill_null(marks["host_end_ns"]).to_numpy()
    end = np.maximum.accumulate(np.maximum(host_end, device_end))
    before = np.empty_like(end)
    before[:1], before[1:] = _work_before(marks, kernels, host_start[:1]), end[:-1]
    duration = end - np.maximum(before, host_start)
    return marks.select("step", "warm_up", duration_ns=pl.Series(np.maximum(duration, 0)))


def _work_before(marks: pl.DataFrame, kernels: pl.DataFrame, start: Int64s) -> Int64s:
    """When the device had done what was launched before the first step."""
    first = marks["device_start_ns"].head(1).drop_nulls()
    if not len(first) or kernels.is_empty():
        return start
    ends = kernels.select(end=pl.col("start_ns") + pl.col("dur_ns")).filter(pl.col("end") <= first.item())
    last = ends["end"].max()
    return start if not isinstance(last, int) else np.array([last], np.int64)
