"""Steps of an Ascend timeline: where the host marked them, and the step of every slice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepscope.readers import pytorch
from stepscope.readers.ascend_text.timeline import Timeline
from stepscope.readers.event_columns import NULL
from stepscope.readers.slice_table import SliceTable
from stepscope.readers.steps import Steps, whole_window
from stepscope.store.nesting import NONE
from stepscope.store.notes import Notes

Int64s = npt.NDArray[np.int64]


def marked_steps(slices: SliceTable, notes: Notes, file: str) -> Steps:
    """The steps that are marked; else one over all."""
    steps = pytorch.marked_steps(slices)
    return steps if len(steps.number) else whole_window(slices, notes, file)


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
