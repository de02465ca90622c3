"""Steps: where the host marked them, which time of the device belongs to each, and the step of every slice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.readers.ascend_text.timeline import STEP_NAME, Timeline
from stepscope.readers.event_columns import NULL
from stepscope.readers.slice_table import SliceTable
from stepscope.readers.steps import Steps, whole_window
from stepscope.store.nesting import NONE
from stepscope.store.notes import Notes

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def marked_steps(slices: SliceTable, notes: Notes, file: str) -> Steps:
    """Steps from ``ProfilerStep#N`` marks, of the thread that carries most of them; else one over all."""
    marks = np.flatnonzero(slices.is_kind("step"))
    if not len(marks):
        return whole_window(slices, notes, file)
    tracks, counts = np.unique(slices.track[marks], return_counts=True)
    marks = marks[slices.track[marks] == tracks[np.argmax(counts)]]
    marks = marks[np.argsort(slices.start[marks], kind="stable")]
    words = list(slices.names)
    numbers = [STEP_NAME.fullmatch(str(words[slices.name[mark]])) for mark in marks.tolist()]
    number = np.array([int(found[1]) if found else NULL for found in numbers], np.int64)
    return Steps(number, slices.start[marks], slices.end[marks], "profiler_step")


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
    place = np.searchsorted(steps.start, moment, side="right") - 1
    inside = (place >= 0) & (moment < steps.end[np.maximum(place, 0)])
    frame = pl.DataFrame(
        {
            "place": place[inside],
            "moment": moment[inside],
            "start": slices.start[launched[inside]],
            "end": slices.end[launched[inside]],
        }
    )
    found = frame.group_by("place").agg(
        pl.col("start").filter(pl.col("moment") == pl.col("moment").min()).min(),
        pl.col("end").filter(pl.col("moment") == pl.col("moment").max()).max(),
    )
    where = found["place"].to_numpy()
    start[where] = found["start"].to_numpy()
    end[where] = np.maximum(found["end"].to_numpy(), steps.end[where])
    return start, end


def step_of_slices(
    steps: Steps, timeline: Timeline, launch: Int64s, operator: Int64s, window: tuple[Int64s, Int64s]
) -> Int64s:
    """The step of each slice: on the device that of its launch, else the one whose window holds its start."""
    slices = timeline.slices
    on_device = timeline.on_layer("hardware", "group", "plane", "vendor")
    cause = np.where(operator != NONE, operator, launch)
    moment = np.where(cause != NONE, slices.start[cause], slices.start) if len(slices) else slices.start
    step = steps.at(moment)
    loose = np.flatnonzero(on_device & (cause == NONE))
    start, end = window
    having = np.flatnonzero(start != NULL)
    if len(having):
        ordered = having[np.argsort(start[having], kind="stable")]
        on_the_device = Steps(steps.number[ordered], start[ordered], end[ordered], steps.marks_from)
        step[loose] = on_the_device.at(slices.start[loose])
    return step
