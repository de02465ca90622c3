"""Columns of slices that follow from what caused them: step, phase, module, stack, operator, shapes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.readers.ascend.step_windows import device_windows
from stepscope.readers.ascend_text.kernel_details import fill_texts
from stepscope.readers.ascend_text.links import Causes
from stepscope.readers.ascend_text.steps import iteration_phases, marked_steps, stated_steps, step_of_slices
from stepscope.readers.ascend_text.timeline import TraceTimeline
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.steps import with_device_work
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import nullable
from stepscope.store.nesting import nearest
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

Coded = tuple[npt.NDArray[Any], list[str | None]]


def fill(
    timeline: TraceTimeline, cause: Causes, kernels: pl.DataFrame, row_of: Int64s, out: RankWriter, notes: Notes
) -> Int64s:
    """Fill the columns of slices, write ``steps`` and ``stacks``; gives the step of each slice."""
    slices, argument = timeline.slices, timeline.argument
    operator = cause.operator
    stated = stated_steps(kernels, row_of)
    steps = marked_steps(slices, stated, notes, timeline.file)
    work = timeline.on_layer("hardware", "group") & slices.is_kind("kernel", "collective", "copy")
    origin = np.where(operator != NONE, operator, cause.launch)
    window = device_windows(steps, slices, work, origin)
    step = step_of_slices(steps, timeline, cause.launch, operator, window, stated, row_of >= 0)
    phase = pytorch.phases(slices, operator)
    rows = with_device_work(steps, slices, step, work, phase == pytorch.FORWARD, phase == pytorch.BACKWARD, operator)
    if steps.marks_from == "iteration":
        rows = _with_phases(rows, iteration_phases(slices))
    out.add("steps", _with_windows(rows, steps.number, window))
    slices.integers |= {
        "step": step,
        "correlation": argument["connection"],
        "stream": argument["stream"],
        "bytes": argument["bytes"],
        "stack": _stacks(timeline, operator, out),
    }
    if kernels.height:
        fill_texts(slices, kernels, row_of)
    module_codes = np.full(len(slices), -1, np.int32)
    slices.texts |= {
        "phase": (phase, list(pytorch.PHASES)),
        "operator": _operator_names(timeline, operator),
        "module": pytorch.modules(slices, operator, module_codes, Codes()),
        "core": _cores(timeline),
        "input_shapes": _joined(slices.texts.get("input_shapes"), _decoded(timeline, "input_shapes")),
        "dtypes": _joined(slices.texts.get("dtypes"), _decoded(timeline, "dtypes")),
    }
    return step


def _with_phases(rows: pl.DataFrame, phases: pl.DataFrame) -> pl.DataFrame:
    return (
        rows.join(phases, on="step", how="left", maintain_order="left")
        .with_columns(
            forward_start_ns=pl.coalesce("forward_start_ns", "fp_start_ns"),
            backward_end_ns=pl.coalesce("backward_end_ns", "bp_end_ns"),
        )
        .drop("fp_start_ns", "bp_end_ns")
    )


def _with_windows(rows: pl.DataFrame, number: Int64s, window: tuple[Int64s, Int64s]) -> pl.DataFrame:
    stated = pl.DataFrame(
        {"step": number, "window_start": nullable(window[0]), "window_end": nullable(window[1])}
    ).unique("step", keep="first", maintain_order=True)
    return (
        rows.join(stated, on="step", how="left", maintain_order="left")
        .with_columns(
            device_start_ns=pl.coalesce("window_start", "device_start_ns"),
            device_end_ns=pl.coalesce("window_end", "device_end_ns"),
        )
        .drop("window_start", "window_end")
    )


def _operator_names(timeline: TraceTimeline, operator: Int64s) -> Coded:
    """The operator's slice, or the name that MindSpore writes into the task itself."""
    slices = timeline.slices
    names = slices.names.texts()
    stated = timeline.argument["operator"]
    own = np.where(operator == NONE, -1, slices.name[operator]) if len(slices) else operator
    codes = np.where(stated >= 0, stated + len(names), own)
    return codes, names + timeline.texts["operator"].texts()


def _cores(timeline: TraceTimeline) -> Coded:
    """What the kernel table says, else the type of the task; operators of a run on the host are their own kernels."""
    types = timeline.texts["task_type"].texts()
    computes = timeline.slices.is_kind("kernel")
    by_type = np.where(computes, timeline.argument["task_type"], -1)
    by_type = np.where(timeline.on_layer("cpu_op"), len(types), by_type)
    return _joined(timeline.slices.texts.get("core"), (by_type, [*types, "HOST_CPU"]))


def _decoded(timeline: TraceTimeline, column: str) -> Coded:
    """Lists of the framework's operators, which the file breaks into lines."""
    texts = [_text(raw).replace(";\r\n", ";") for raw in timeline.texts[column]]
    return timeline.argument[column], [text or None for text in texts]


def _joined(first: Coded | None, second: Coded) -> Coded:
    """The first column, and the second where the first has nothing."""
    if first is None:
        return second
    codes, texts = first
    other, more = second
    return np.where(codes >= 0, codes, np.where(other >= 0, other + len(texts), -1)), [*texts, *more]


def _stacks(timeline: TraceTimeline, behind: Int64s, out: RankWriter) -> Int64s:
    """Stack numbers: as operators state them, handed down to what lies inside and to what it launches."""
    slices = timeline.slices
    stated = timeline.argument["stack"].astype(np.int64)
    if not (stated >= 0).any():
        number, stacks = pytorch.stacks(slices, behind, timeline.argument["stack"], timeline.texts["stack"])
        out.add("stacks", stacks)
        return number
    frames = [
        "\n".join(reversed(_text(raw).replace("\r\n", "\n").replace(";\n", "\n").split("\n")))
        for raw in timeline.texts["stack"]
    ]
    out.add("stacks", pl.DataFrame({"stack": range(len(frames)), "frames": pl.Series(frames, dtype=pl.String)}))
    around = nearest(slices.parent, stated >= 0)
    number = np.append(stated, NULL)[around]
    launched = np.flatnonzero(behind != NONE)
    number[launched] = number[behind[launched]]
    number[slices.is_kind("python", "module")] = NULL
    return number


def _text(raw: Any) -> str:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = bytes(raw).decode("utf-8", "replace")
    if not isinstance(value, str):
        value = json.dumps(value)
    return value.encode("utf-8", "replace").decode("utf-8")
