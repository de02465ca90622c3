"""Steps and communication calls of the step trace, ``step_trace_raw``.

All points are counts of 10 ns of the device's clock. A step lasts from the end of the one before to its own end; the
first has no such start and begins with its forward pass, so its interval is unknown and it counts as incomplete.
Communication calls stand in three columns each, ``X``, ``X_start_point`` and ``X_end_point``; zeros mean that the
call is not in that step.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.readers.ascend.device_tasks import collective_kind
from stepscope.readers.files.numbers import COUNTS, integer, scaled
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.repair import clean_text
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import Table, read_csv, read_json
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.readers.slices.steps import Steps
from stepscope.store.notes import Notes

_POINTS: Final = ("start_point", "end_point", "fp_point", "bp_point")
_PARTS: Final = ("total", "iteration_interval", "fp_and_bp", "fp", "tail")
_CALL: Final = re.compile(r"stream_([^_]+)_(?:(\d+)_)?(.+)")
_AVERAGE: Final = "-"


@dataclass
class Step:
    """One step; times in ns."""

    number: int
    start: int
    end: int
    forward: int | None
    backward: int | None
    first_operator: str | None = None
    last_operator: str | None = None


@dataclass
class Call:
    """One communication call; ``column`` is its name in the step trace."""

    step: int
    column: str
    start: int
    end: int

    @property
    def stream(self) -> str:
        match = _CALL.fullmatch(self.column)
        return match[1] if match else "communication"

    @property
    def name(self) -> str:
        match = _CALL.fullmatch(self.column)
        return match[3] if match else self.column


@dataclass
class StepTrace:
    """All steps of a rank in order of time, and their communication calls."""

    steps: list[Step] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    file: str = ""

    def marks(self) -> Steps:
        return Steps(
            np.array([step.number for step in self.steps], np.int64),
            np.array([step.start for step in self.steps], np.int64),
            np.array([step.end for step in self.steps], np.int64),
            "step_trace",
        )

    def frame(self) -> pl.DataFrame:
        """Rows of ``steps``."""
        rows = [
            {
                "step": step.number,
                "host_start_ns": step.start,
                "host_end_ns": step.end,
                "device_start_ns": step.forward,
                "device_end_ns": step.end,
                "forward_start_ns": step.forward,
                "backward_end_ns": step.backward,
                "first_operator": step.first_operator,
                "last_operator": step.last_operator,
                "marks_from": "step_trace",
                "incomplete": index == 0 and step.forward == step.start,
            }
            for index, step in enumerate(self.steps)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def add_slices(self, parts: SliceParts, device: str, kind: str) -> None:
        """The calls as slices of a kind on the tracks of their streams."""
        if not self.calls:
            return
        rows = [
            {
                "track": parts.tracks.track("stream", f"Stream {call.stream}", device, call.stream),
                "start_ns": call.start,
                "dur_ns": call.end - call.start,
                "name": call.name,
                "kind": kind,
                "type": collective_kind(call.name),
                "stream": integer(call.stream),
                "json": json.dumps({"step_trace_column": call.column}),
            }
            for call in self.calls
        ]
        parts.add(pl.DataFrame(rows, infer_schema_length=None), self.file)


def read_step_trace(path: Path, reported: Reported, reading: Reading) -> StepTrace:
    """The steps of ``step_trace_raw``; averages and other sums of the vendor go to ``reported``."""
    table = read_csv(path, reading)
    trace = StepTrace(file=path.name)
    if table is None:
        return trace
    if table.column("step_num") is None or table.column("start_point") is None or table.column("end_point") is None:
        reading.notes.add("mindspore_columns_missing", file=path.name, columns="step_num, start_point, end_point")
        return trace
    calls = _call_columns(table)
    rows = _rows_of_steps(table, path.name, reported, reading.notes)
    for row in rows:
        step = _step(row)
        if step is None:
            reading.notes.add("mindspore_rows_dropped", file=path.name, place=f"step {row.get('step_num', '')}")
            continue
        trace.steps.append(step)
        for metric in _PARTS:
            if metric in row:
                reported.add(path.name, str(step.number), metric, row[metric], step.number)
        trace.calls += _calls(row, calls, step.number, path.name, reading.notes)
    trace.steps.sort(key=lambda step: step.start)
    return trace


def read_points(path: Path, trace: StepTrace, reading: Reading) -> None:
    """Names of the operators that mark forward start and backward end; one pair for all steps, or one per step."""
    said = read_json(path, reading)
    listed = said if isinstance(said, list) else [said] * len(trace.steps)
    pairs = [item for item in listed if isinstance(item, dict)]
    if said is not None and len(pairs) != len(listed):
        reading.notes.add("mindspore_rows_dropped", file=path.name, place="marks", count=len(listed) - len(pairs))
    for step, pair in zip(trace.steps, pairs, strict=False):
        step.first_operator = _name(pair.get("fp_start")) or step.first_operator
        step.last_operator = _name(pair.get("bp_end")) or step.last_operator


def _rows_of_steps(table: Table, file: str, reported: Reported, notes: Notes) -> list[dict[str, str]]:
    """All rows but the average, which is the last one and has no number (``-``, or 0 in old releases)."""
    marks = ("step_num", *_POINTS)
    header = [name.lower() if name.lower() in marks else name for name in table.header]  # found in any case
    rows = [dict(zip(header, row, strict=True)) for row in table.rows]
    if rows and (
        rows[-1].get("step_num") == _AVERAGE or (rows[-1]["step_num"] == "0" and rows[-1]["end_point"] == "0")
    ):
        average = rows.pop()
        bad = 0
        for metric, cell in average.items():
            if metric != "step_num":
                bad += not reported.add(file, "average", metric, cell)
        notes.add("mindspore_cells_not_numbers", file=file, count=bad)
    return rows


def _step(row: dict[str, str]) -> Step | None:
    number = integer(row["step_num"], 1 << 62)
    start, end, forward, backward = (scaled(row.get(name), COUNTS) for name in _POINTS)
    if number is None or start is None or end is None or end < start:
        return None
    return Step(number, start, end, forward, backward)


def _call_columns(table: Table) -> list[str]:
    known = set(table.header)
    return [name for name in table.header if {f"{name}_start_point", f"{name}_end_point"} <= known]


def _calls(row: dict[str, str], columns: list[str], step: int, file: str, notes: Notes) -> list[Call]:
    calls = []
    absent = odd = differing = 0
    for column in columns:
        start, end = scaled(row[f"{column}_start_point"], COUNTS), scaled(row[f"{column}_end_point"], COUNTS)
        if start == 0 and end == 0:
            absent += 1
        elif start is None or end is None or end < start:
            odd += 1
        else:
            calls.append(Call(step, column, start, end))
            differing += scaled(row[column], COUNTS) != end - start
    notes.add("step_trace_call_absent", file=file, count=absent)
    notes.add("mindspore_rows_dropped", file=file, place=f"communication of step {step}", count=odd)
    notes.add("step_trace_duration_differs", file=file, count=differing)
    return calls


def _name(value: Any) -> str | None:
    return clean_text(value) if isinstance(value, str) and value else None
