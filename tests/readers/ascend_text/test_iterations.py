"""msprof's Step Trace: its iterations are the steps where the framework marked none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.reading import read
from support.traces import Event, write

_PID = (500 << 10) | (13 << 5)


def _event(tid: int, name: str, start_us: int, dur_us: int, **args: Any) -> Event:
    return {"ph": "X", "pid": _PID, "tid": tid, "name": name, "ts": f"{start_us}.000", "dur": dur_us, "args": args}


def test_iterations_with_their_forward_and_backward_are_steps(tmp_path: Path) -> None:
    events: list[Event] = [
        {"ph": "M", "name": "process_name", "pid": _PID, "args": {"name": "Ascend Hardware"}},
        {"ph": "M", "name": "thread_name", "pid": _PID, "tid": 1, "args": {"name": "Step Trace(Model ID:1)"}},
        {"ph": "M", "name": "thread_name", "pid": _PID, "tid": 7, "args": {"name": "Stream 7"}},
    ]
    begin = 1_736_405_443_000_000
    for number in (1, 2):
        start = begin + number * 1000
        stated = {"Iteration ID": number, "FP Start": f"{start + 100}", "BP End": f"{start + 800}"}
        events += [
            _event(1, f"Iteration {number}", start, 1000, **stated),
            _event(1, f"FP_BP Time {number}", start + 100, 700),
            _event(7, "MatMul", start + 150, 600, **{"Task Type": "AI_CORE", "Task Id": number, "Stream Id": 7}),
        ]
    output = tmp_path / "PROF_000001_20250109123456_ABC" / "mindstudio_profiler_output"
    write(output / "msprof_20250109123456.json", events)
    reading = read(tmp_path)
    rows = reading.rows("steps")
    names = ("step", "host_start_ns", "host_end_ns", "forward_start_ns", "backward_end_ns")
    assert [[row[name] for name in names] for row in rows] == [
        [number, *((begin + number * 1000 + offset) * 1000 for offset in (0, 1000, 100, 800))] for number in (1, 2)
    ]
    assert {row["marks_from"] for row in rows} == {"iteration"}
    assert [row["step"] for row in reading.rows("slices") if row["kind"] == "kernel"] == [1, 2]
    assert "no_step_marks" not in reading.codes
