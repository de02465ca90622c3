"""Steps of an Ascend timeline: where the host marked them, and the step of every slice."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.ascend.step_windows import steps_on_device
from stepscope.readers.ascend_text.timeline import TraceTimeline
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.steps import Steps, told_apart, whole_window
from stepscope.store.notes import Notes

_KERNEL_TABLE: Final = "kernel_table"
# msprof's Step Trace: "Iteration 3" with "FP_BP Time 3" in it.
_ITERATION: Final = re.compile(r"Iteration (\d{1,18})")
_PHASES: Final = re.compile(r"FP_BP Time (\d{1,18})")


def stated_steps(kernels: pl.DataFrame, row_of: Int64s) -> Int64s:
    """The step of each slice that the row of its kernel names, NULL where none does."""
    if "step" not in kernels.columns:
        return np.full(len(row_of), NULL, np.int64)
    number = kernels["step"].set(kernels["step"] < 0, None).fill_null(NULL).to_numpy()
    return np.where(row_of >= 0, number[row_of], NULL)


def marked_steps(slices: SliceTable, stated: Int64s, notes: Notes, file: str) -> Steps:
    """The steps that are marked; else those that kernels name, over the kernels of each; else one over all."""
    steps = told_apart(pytorch.marked_steps(slices), notes, file)
    if len(steps.number):
        return steps
    named = stated != NULL
    if not named.any():
        iterations = _iterations(slices)
        return iterations if len(iterations.number) else whole_window(slices, notes, file)
    rows = pl.DataFrame({"step": stated[named], "start": slices.start[named], "end": slices.end[named]})
    spans = rows.group_by("step").agg(pl.col("start").min(), pl.col("end").max()).sort("start", "step")
    notes.add("ascend_steps_from_kernels", file=file, count=spans.height)
    number, start, end = (spans[name].to_numpy() for name in ("step", "start", "end"))
    return Steps(number, start, end, _KERNEL_TABLE)


def _iterations(slices: SliceTable) -> Steps:
    """What msprof calls iterations: from the end of the one before to the end of its own, on the device."""
    words = slices.names.texts()
    number = np.array(
        [int(found[1]) if (found := _ITERATION.fullmatch(word or "")) else NULL for word in words or [""]]
    )
    marks = np.flatnonzero((number[slices.name] != NULL) & slices.is_kind("reported")) if len(slices) else slices.id[:0]
    marks = marks[np.argsort(slices.start[marks], kind="stable")]
    return Steps(number[slices.name[marks]], slices.start[marks], slices.end[marks], "iteration")


def iteration_phases(slices: SliceTable) -> pl.DataFrame:
    """Per iteration when its first forward operator began and its last backward operator ended (FP Start, BP End)."""
    words = slices.names.texts()
    number = np.array([int(found[1]) if (found := _PHASES.fullmatch(word or "")) else NULL for word in words or [""]])
    spans = np.flatnonzero((number[slices.name] != NULL) & slices.is_kind("reported")) if len(slices) else slices.id[:0]
    return pl.DataFrame(
        {"step": number[slices.name[spans]], "fp_start_ns": slices.start[spans], "bp_end_ns": slices.end[spans]}
    ).unique("step", keep="first", maintain_order=True)


def step_of_slices(
    steps: Steps,
    timeline: TraceTimeline,
    launch: Int64s,
    operator: Int64s,
    window: tuple[Int64s, Int64s],
    stated: Int64s,
    in_table: Bools,
) -> Int64s:
    """The step of each slice: on the device that of its launch, else the one whose window holds its start.

    Where kernels name the steps, those of the table (``in_table``) are in the step ``stated`` there, or in none.
    """
    slices = timeline.slices
    on_device = timeline.on_layer("hardware", "group", "plane", "vendor")
    cause = np.where(operator != NONE, operator, launch)
    moment = np.where(cause != NONE, slices.start[cause], slices.start) if len(slices) else slices.start
    step = steps.at(moment)
    if steps.marks_from == _KERNEL_TABLE:
        return np.where(in_table, stated, step)
    loose = np.flatnonzero(on_device & (cause == NONE))
    there = steps_on_device(steps, window)
    if len(there.number):
        step[loose] = there.at(slices.start[loose])
    return step
