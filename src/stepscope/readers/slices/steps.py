"""Steps of a rank: where they lie in time, and what the device did for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.event_columns import categorical
from stepscope.store.notes import Notes


@dataclass
class Steps:
    """Steps in time order, as something on the host marked them."""

    number: Int64s
    start: Int64s
    end: Int64s
    marks_from: str

    def at(self, moment: Int64s) -> Int64s:
        """The step that contains each moment, NULL outside."""
        if not len(self.number):
            return np.full(len(moment), NULL, np.int64)
        index = np.searchsorted(self.start, moment, side="right") - 1
        # One more entry at the end stands for the time before the first.
        outside = moment >= np.append(self.end, np.iinfo(np.int64).min)[index]
        steps = np.append(self.number, NULL)[index]
        steps[outside] = NULL
        return steps

    def frame(self) -> pl.DataFrame:
        """Rows of ``steps`` with what the marks tell."""
        return pl.DataFrame({"step": self.number, "host_start_ns": self.start, "host_end_ns": self.end}).with_columns(
            marks_from=pl.lit(self.marks_from)
        )


def told_apart(steps: Steps, notes: Notes, file: str) -> Steps:
    """The same steps; where a number comes again, as in a second loop of the script, all are numbered anew."""
    again = len(steps.number) - len(np.unique(steps.number))
    notes.add("step_numbers_repeat", file=file, count=again)
    if not again:
        return steps
    return replace(steps, number=steps.number.min() + np.arange(len(steps.number)))


#: Steps of a capture that knows them from elsewhere than its trace, given those that the trace marks.
ChooseSteps = Callable[[Steps], Steps]


def no_steps(marks_from: str = "window") -> Steps:
    """None at all."""
    nothing = np.empty(0, np.int64)
    return Steps(nothing, nothing, nothing, marks_from)


def whole_window(slices: SliceTable, notes: Notes, file: str, launch: Int64s | None = None) -> Steps:
    """One step over all work, where nothing marks any though the writer could."""
    if len(slices):
        notes.add("no_step_marks", file=file)
    return one_step(slices, launch)


def one_step(slices: SliceTable, launch: Int64s | None = None) -> Steps:
    """One step from the first launch, or the first device work where no launch is known, to the end of all device work.

    Without a device it holds the operators, without operators all there is. What lies around it is not the step's.
    """
    if not len(slices):
        return no_steps()
    first, last = _work_extent(slices, launch)
    return Steps(np.zeros(1, np.int64), np.array([first]), np.array([last + 1]), "window")


def _work_extent(slices: SliceTable, launch: Int64s | None) -> tuple[int, int]:
    if slices.is_kind("kernel", "copy").any():
        work = np.flatnonzero(slices.is_kind("kernel", "collective", "copy"))
        last = int(slices.end[work].max())
        calls = np.empty(0, np.int64) if launch is None else launch[work][launch[work] != NONE]
        return int(slices.start[calls if len(calls) else work].min()), last
    operators = slices.is_kind("operator", "collective")
    if operators.any():
        return int(slices.start[operators].min()), int(slices.end[operators].max())
    return extent(slices)


def extent(slices: SliceTable) -> tuple[int, int]:
    """Start of the first slice and end of the last. There is at least one.

    Marks do not count beside others: writers set some to the end of a window in which nothing was recorded any more,
    or to an absurd time.
    """
    lasting = ~slices.is_kind("mark")
    counted = lasting if lasting.any() else ~lasting
    return int(slices.start[counted].min()), int(slices.end[counted].max())


def with_device_work(
    steps: Steps, slices: SliceTable, step: Int64s, work: Bools, forward: Bools, backward: Bools, operator: Int64s
) -> pl.DataFrame:
    """Rows of ``steps`` with the device columns, from the device slices (``work``) that each step launched."""
    launched = np.flatnonzero(work & (step != NULL))
    owner = operator[launched]
    busy = pl.DataFrame(
        {
            "step": step[launched],
            "start": slices.start[launched],
            "end": slices.end[launched],
            "forward": forward[launched],
            "backward": backward[launched],
            "operator": categorical(np.where(owner == NONE, -1, slices.name[owner]), slices.names.texts()),
        }
    )
    device = busy.group_by("step").agg(device_start_ns=pl.col("start").min(), device_end_ns=pl.col("end").max())
    first = (
        busy.filter("forward")
        .sort("start")
        .group_by("step")
        .first()
        .select("step", forward_start_ns="start", first_operator="operator")
    )
    last = (
        busy.filter("backward")
        .sort("end")
        .group_by("step")
        .last()
        .select("step", backward_end_ns="end", last_operator="operator")
    )
    rows = steps.frame()
    for columns in (device, first, last):
        rows = rows.join(columns, on="step", how="left")
    return rows.sort("host_start_ns")
