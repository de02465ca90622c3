"""Which time of the device belongs to each step."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.steps import Steps


def device_windows(steps: Steps, slices: SliceTable, work: Bools, cause: Int64s) -> tuple[Int64s, Int64s]:
    """Start and end of each step on the device, NULL where it launched nothing.

    The vendor's rule: from the earliest slice of the first launch of the step, to the latest slice of its last
    launch, or to the end of the host's mark if that is later.
    """
    start = np.full(len(steps.number), NULL, np.int64)
    end = np.full(len(steps.number), NULL, np.int64)
    launched = np.flatnonzero(work & (cause != NONE))
    if not len(launched) or not len(steps.number):
        return start, end
    moment = slices.start[cause[launched]]
    step = np.searchsorted(steps.start, moment, side="right") - 1
    inside = (step >= 0) & (moment < steps.end[np.maximum(step, 0)])
    frame = pl.DataFrame(
        {
            "step": step[inside],
            "moment": moment[inside],
            "start": slices.start[launched[inside]],
            "end": slices.end[launched[inside]],
        }
    )
    per_step = frame.group_by("step").agg(
        pl.col("start").filter(pl.col("moment") == pl.col("moment").min()).min(),
        pl.col("end").filter(pl.col("moment") == pl.col("moment").max()).max(),
    )
    where = per_step["step"].to_numpy()
    start[where] = per_step["start"].to_numpy()
    end[where] = np.maximum(per_step["end"].to_numpy(), steps.end[where])
    return start, end


def steps_on_device(steps: Steps, window: tuple[Int64s, Int64s]) -> Steps:
    """The same steps where they lie on the device; those that launched nothing are left out."""
    start, end = window
    launched = np.flatnonzero(start != NULL)
    launched = launched[np.argsort(start[launched], kind="stable")]
    return Steps(steps.number[launched], start[launched], end[launched], steps.marks_from)
