"""Steps of a GPU run as they were recorded: ``step_trace_profiling``, the source of ``step_trace_raw``.

Built from documentation, not from a sample.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepscope.readers.files.numbers import COUNTS, NS, scaled
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.repair import clean_text
from stepscope.readers.files.text_files import read_text
from stepscope.readers.mindinsight.step_trace import Call, Step, StepTrace
from stepscope.store.notes import Notes


def read_gpu_step_trace(path: Path, reading: Reading) -> StepTrace:
    """The steps of ``step_trace_profiling``, in either of its forms.

    Asynchronous launch: a line per step, ``operator,ns`` for start, forward, backward and end, then ``call,ns,ns`` …
    Otherwise a line per mark, ``operator start,end start,end …`` in counts of 10 ns, one pair per step.
    """
    trace = StepTrace(file=path.name)
    lines = [line.split() for line in read_text(path, reading)]
    lines = [line for line in lines if line]
    if not lines:
        return trace
    if "," in lines[0][0]:
        for number, line in enumerate(lines, start=1):
            _add_line_of_step(trace, line, number, reading.notes)
    else:
        _add_lines_of_marks(trace, lines, reading.notes)
    return trace


def _add_line_of_step(trace: StepTrace, line: list[str], number: int, notes: Notes) -> None:
    marks = [_marked(item, 1) for item in line[:4]]
    if len(marks) < 4 or any(mark is None for mark in marks):
        notes.add("mindspore_rows_dropped", file=trace.file, place=f"line {number}")
        return
    (_, start), (first, forward), (last, backward), (_, end) = (mark for mark in marks if mark is not None)
    trace.steps.append(Step(number, start[0], end[0], forward[0], backward[0], first, last))
    for position, item in enumerate(line[4:]):
        if (call := _marked(item, 2)) is None:
            notes.add("mindspore_rows_dropped", file=trace.file, place=f"line {number}")
        else:
            column = f"stream_ops_{position}_{call[0].rsplit('/', maxsplit=1)[-1]}"
            trace.calls.append(Call(number, column, call[1][0], max(call[1])))


def _marked(item: str, count: int) -> tuple[str, list[int]] | None:
    """``operator,time`` or ``operator,start,end``."""
    name, *cells = item.rsplit(",", maxsplit=count)
    times = [time for cell in cells if (time := scaled(cell, NS)) is not None]
    return (clean_text(name), times) if len(times) == count else None


def _add_lines_of_marks(trace: StepTrace, lines: list[list[str]], notes: Notes) -> None:
    pairs = [[tuple(scaled(cell, COUNTS) for cell in item.split(",")) for item in line[1:]] for line in lines]
    if len(lines) < 3 or any(len(line) != len(pairs[0]) for line in pairs):
        notes.add("mindspore_file_damaged", file=trace.file)
        return
    before: int | None = None
    for step_index in range(len(pairs[0])):
        marks: list[Any] = [line[step_index] for line in pairs]
        if any(len(mark) != 2 or None in mark for mark in marks):
            notes.add("mindspore_rows_dropped", file=trace.file, place=f"step {step_index + 1}")
            continue
        forward, backward, end = marks[0][0], marks[1][1], marks[2][1]
        start = forward if before is None else before
        before = end
        if end < start:
            notes.add("mindspore_rows_dropped", file=trace.file, place=f"step {step_index + 1}")
            continue
        names = clean_text(lines[0][0]), clean_text(lines[1][0])
        trace.steps.append(Step(step_index + 1, start, end, forward, backward, *names))
        for index, (line, mark) in enumerate(zip(lines[3:], marks[3:], strict=True)):
            column = f"stream_ops_{index}_{line[0].rsplit('/', maxsplit=1)[-1]}"
            trace.calls.append(Call(step_index + 1, clean_text(column), mark[0], max(mark)))
