"""Steps of a dump: from ``msmemscope.step()``, or from mstx ranges named ``step start``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.steps import Steps


def marked_steps(
    events: pl.DataFrame, slices: SliceTable, window: tuple[int, int]
) -> tuple[Steps, npt.NDArray[np.bool_]]:
    """Steps, and which are incomplete; the tool itself takes the source that it sees first, and so do we."""
    calls = _calls(events)
    ranges = np.flatnonzero(slices.is_kind("step"))
    ranges = ranges[np.argsort(slices.start[ranges], kind="stable")]
    if len(ranges) and not (calls.height and calls["time"][0] < slices.start[ranges[0]]):
        number = np.arange(1, len(ranges) + 1, dtype=np.int64)
        return Steps(number, slices.start[ranges], slices.end[ranges], "mstx"), np.zeros(len(ranges), bool)
    # A call ends the step whose number it carries, and begins the next.
    number, ends = calls["step"].to_numpy(), calls["time"].to_numpy()
    begins, incomplete = np.append(ends[:0], ends[:-1]), np.zeros(len(ends), bool)
    if len(ends):
        begins = np.append(min(window[0], int(ends[0])), begins)
    if len(ends) and window[1] > ends[-1]:
        number, begins = np.append(number, number[-1] + 1), np.append(begins, ends[-1])
        ends, incomplete = np.append(ends, window[1] + 1), np.append(incomplete, True)
    return Steps(number, begins, ends, "msmemscope_step"), incomplete


def _calls(events: pl.DataFrame) -> pl.DataFrame:
    """Times and numbers of the calls, in order, each number once."""
    is_call = (pl.col("event") == "SYSTEM") & (pl.col("type") == "STEP")
    calls = events.filter(is_call).select("time", step=pl.col("name").cast(pl.Int64, strict=False))
    return (
        calls.filter(pl.col("step").is_between(0, 1 << 40))
        .sort("time")
        .unique("step", keep="first", maintain_order=True)
    )
