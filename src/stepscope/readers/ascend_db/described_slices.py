"""Columns of slices that follow from what caused them: step, phase, module, stack and operator; and the steps."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.arrays import NONE, Bools, Int64s
from stepscope.readers.ascend.step_windows import device_windows, steps_on_device
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.links import Causes
from stepscope.readers.ascend_db.timeline import numbers
from stepscope.readers.files.exact_time import LARGEST_NS
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.steps import Steps, one_step, whole_window, with_device_work
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import nullable


def fill(reading: DatabaseReading, slices: SliceTable, cause: Causes, on_device: Bools) -> Int64s:
    """Fill step, phase, module and operator of all slices and write ``steps``; gives the step of each slice."""
    steps = _steps(reading, slices)
    work = on_device & slices.is_kind("kernel", "collective", "copy")
    behind = np.where(cause.operator != NONE, cause.operator, cause.launch)
    window = device_windows(steps, slices, work, behind)
    step = _step_of_slices(steps, slices, behind, on_device, window)
    phase = pytorch.phases(slices, cause.origin)
    forward, backward = phase == pytorch.FORWARD, phase == pytorch.BACKWARD
    rows = with_device_work(steps, slices, step, work, forward, backward, cause.operator)
    reading.out.add("steps", _with_windows(rows, steps.number, window))
    slices.integers["step"] = step
    operator = np.where(cause.operator == NONE, -1, slices.name[cause.operator]) if len(slices) else cause.operator
    slices.texts |= {
        "phase": (phase, list(pytorch.PHASES)),
        "operator": (operator, slices.names.texts()),
        "module": pytorch.modules(slices, cause.origin, np.full(len(slices), -1, np.int32), Codes()),
    }
    return step


def _steps(reading: DatabaseReading, slices: SliceTable) -> Steps:
    """From the marks among the framework's calls, else from the table of steps, else one over all."""
    table = reading.database.frame("STEP_TIME", ["id", "startNs", "endNs"])
    good = table.filter(
        pl.col("id").is_not_null()
        & pl.col("startNs").is_between(0, LARGEST_NS)
        & pl.col("endNs").is_between(pl.col("startNs"), LARGEST_NS)
    ).sort("startNs", maintain_order=True)
    reading.note("db_rows_empty", table="STEP_TIME", count=table.height - good.height)
    listed = Steps(numbers(good["id"]), numbers(good["startNs"]), numbers(good["endNs"]), "step_time")
    marked = pytorch.marked_steps(slices)
    if not len(marked.number):
        if len(listed.number):
            return listed
        if reading.database.columns("PYTORCH_API"):
            return whole_window(slices, reading.notes, reading.database.file)
        reading.note("no_steps_in_database", count=int(len(slices) > 0))
        return one_step(slices)
    marks = set(zip(marked.number.tolist(), marked.start.tolist(), marked.end.tolist(), strict=True))
    unmarked = sum(row not in marks for row in good.iter_rows())
    reading.note("db_step_not_marked", count=unmarked)
    return marked


def _step_of_slices(
    steps: Steps, slices: SliceTable, behind: Int64s, on_device: Bools, window: tuple[Int64s, Int64s]
) -> Int64s:
    """On the device the step of the launch, else the one whose window there holds the start."""
    step = steps.at(np.where(behind != NONE, slices.start[behind], slices.start)) if len(slices) else behind
    loose = np.flatnonzero(on_device & (behind == NONE))
    there = steps_on_device(steps, window)
    if len(there.number):
        step[loose] = there.at(slices.start[loose])
    return step


def _with_windows(rows: pl.DataFrame, number: Int64s, window: tuple[Int64s, Int64s]) -> pl.DataFrame:
    columns = {"step": number, "window_start": nullable(window[0]), "window_end": nullable(window[1])}
    stated = pl.DataFrame(columns).unique("step", keep="first", maintain_order=True)
    return rows.join(stated, on="step", how="left", maintain_order="left").select(
        pl.exclude("device_start_ns", "device_end_ns", "window_start", "window_end"),
        device_start_ns=pl.coalesce("window_start", "device_start_ns"),
        device_end_ns=pl.coalesce("window_end", "device_end_ns"),
    )
