"""Traces with an event on each line and no array around them, as streaming tracers write them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import stepscope
from stepscope.readers.trace_json.trace_text import TraceText
from stepscope.store.notes import Notes

EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "a}\\n{b"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 1, "dur": 400, "args": {"x": [{}, {}]}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 2, "ts": 500, "dur": 174, "args": {}},
]
LINES = [json.dumps(event) for event in EVENTS]


def _read(path: Path, content: bytes) -> tuple[list[str | None], list[str]]:
    """Names of the events, and codes of the notes."""
    path.write_bytes(content)
    notes = Notes()
    events = [event for batch in TraceText(path, notes).batches() for event in batch]
    return [event.name for event in events], [note.code for note in notes.all()]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("between", ["\n", "\r\n", "\n\n"])
def test_each_line_is_an_event(between: str, end: str, tmp_path: Path) -> None:
    names, codes = _read(tmp_path / "trace.jsonl", (between.join(LINES) + end).encode())
    assert names == ["process_name", "aten::mm", "aten::add"]
    assert codes == []


def test_a_line_that_was_cut_off_is_left_out_and_told(tmp_path: Path) -> None:
    text = "\n".join(LINES).encode()
    for length in range(len(text) - len(LINES[-1]) + 1, len(text)):
        names, codes = _read(tmp_path / "trace.jsonl", text[:length])
        assert names == ["process_name", "aten::mm"]
        assert codes == ["file_truncated"]


def test_such_a_file_is_a_capture(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    run = stepscope.load(path, progress=False)
    rows = run.sql("SELECT name, dur_ns FROM slices ORDER BY start_ns").rows()
    assert rows == [("aten::mm", 400_000), ("aten::add", 174_000)]
    assert stepscope.load(tmp_path, progress=False).ranks == [0]


def test_lines_of_something_else_are_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"message": "ph", "level": 3}\n{"message": "b"}\n')
    with pytest.raises(stepscope.errors.StepscopeError):
        stepscope.load(path, progress=False)
