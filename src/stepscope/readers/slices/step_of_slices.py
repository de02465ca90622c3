"""Whose work is it? The step of each slice, of device work above all (docs/metrics/steps.md).

Device work belongs to the step whose host window launched it. Where its launch was not recorded, the work beside it on
its stream tells the step, because a stream works in order. Before the first launched slice of its stream it is work
from before the window and belongs to no step. Only where no launch was recorded at all does device work go by its own
time. A range that was marked on a stream, such as ``forward``, belongs to the step of the first work inside it.
"""

from __future__ import annotations

import numpy as np

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.steps import Steps


def step_of_slices(steps: Steps, slices: SliceTable, launch: Int64s, device_work: Bools) -> Int64s:
    """The step of each slice, NULL outside of all. ``launch`` is the position of the call behind a slice, else NONE."""
    moment = np.where(launch != NONE, slices.start[launch], slices.start) if len(slices) else slices.start
    if steps.marks_from == "window" and len(steps.number):
        # What begins before the only step and reaches into it, such as the operator around its first launch, is in it.
        reaches_in = (launch == NONE) & (moment < steps.start[0]) & (slices.end > steps.start[0])
        moment = np.where(reaches_in, steps.start[0], moment)
    step = steps.at(moment)
    launched = device_work & (launch != NONE)
    if not launched.any():
        return step
    unlaunched = np.flatnonzero(device_work & (launch == NONE))
    earliest = slices.start[launched].min()
    for track in np.unique(slices.track[unlaunched]):
        mine = unlaunched[slices.track[unlaunched] == track]
        known = np.flatnonzero(launched & (slices.track == track))
        if len(known):
            step[mine] = _step_of_neighbours(slices, mine, known, step)
        else:
            step[mine[slices.start[mine] < earliest]] = NULL
    ranges = np.flatnonzero(slices.is_kind("annotation") & (launch == NONE))
    _step_of_work_inside(slices, ranges, np.flatnonzero(device_work), step)
    return step


def _step_of_work_inside(slices: SliceTable, ranges: Int64s, work: Int64s, step: Int64s) -> None:
    """Give ranges that hold device work of their own stream the step of the first of it."""
    for track in np.intersect1d(slices.track[ranges], slices.track[work]):
        mine, inside = ranges[slices.track[ranges] == track], work[slices.track[work] == track]
        inside = inside[np.argsort(slices.start[inside], kind="stable")]
        first = inside[np.minimum(np.searchsorted(slices.start[inside], slices.start[mine]), len(inside) - 1)]
        holds = (slices.start[first] >= slices.start[mine]) & (slices.start[first] < slices.end[mine])
        step[mine[holds]] = step[first[holds]]


def _step_of_neighbours(slices: SliceTable, unlaunched: Int64s, launched: Int64s, step: Int64s) -> Int64s:
    """The step of the launched slice of the same stream that is nearest in time; NULL before the first of them."""
    launched = launched[np.argsort(slices.start[launched], kind="stable")]
    following = np.searchsorted(slices.start[launched], slices.start[unlaunched], side="right")
    previous = launched[np.maximum(following - 1, 0)]
    next_one = launched[np.minimum(following, len(launched) - 1)]
    nearer_to_next = slices.start[next_one] - slices.end[unlaunched] < slices.start[unlaunched] - slices.end[previous]
    neighbour = np.where(nearer_to_next & (following < len(launched)), next_one, previous)
    return np.where(following == 0, NULL, step[neighbour])
