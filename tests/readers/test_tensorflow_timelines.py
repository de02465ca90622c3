"""Timelines of TensorFlow 1, as ``timeline.Timeline(step_stats).generate_chrome_trace_format()`` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepscope
from support.reading import Reading, read

_TASK = "/job:localhost/replica:0/task:0"


def _process(pid: int, name: str) -> dict[str, Any]:
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def _region(pid: int, tid: int, op: str, start_us: int, dur_us: int, node: str) -> dict[str, Any]:
    args = {"name": node, "op": op, "input0": "x"}
    return {"ph": "X", "cat": "Op", "name": op, "pid": pid, "tid": tid, "ts": start_us, "dur": dur_us, "args": args}


def _timeline(device: str) -> list[dict[str, Any]]:
    """Two kernels and a copy: the device tracer writes each of them twice; the executor's view stands beside."""
    on_streams = [("MatMul", 200, 50), ("Relu", 260, 20)]
    events = [
        _process(1, f"{_TASK}/device:CPU:0 Compute"),
        _process(2, f"{_TASK}/device:CPU:0 Tensors"),
        _process(3, f"{_TASK}/{device} Compute"),
        _process(5, f"/{device}/stream:all Compute"),
        _process(7, f"/{device}/stream:13 Compute"),
        _process(9, f"/{device}/memcpy Compute"),
        _region(1, 0, "NoOp", 100, 5, "_SOURCE"),
        _region(3, 0, "MatMul", 110, 30, "dense/MatMul"),
        _region(3, 1, "Relu", 145, 10, "Relu"),
        _region(7, 0, "MEMCPYHtoD", 150, 40, "edge_1"),
        _region(9, 0, "MEMCPYHtoD", 150, 40, "edge_1"),
    ]
    for op, start, dur in on_streams:
        events += [_region(pid, 0, op, start, dur, op) for pid in (5, 7)]
    return events


def _opened(tmp_path: Path, events: list[dict[str, Any]]) -> Reading:
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return read(path)


@pytest.mark.parametrize("device", ["device:GPU:0", "gpu:0"])
def test_a_kernel_that_stands_on_two_tracks_counts_once(device: str, tmp_path: Path) -> None:
    reading = _opened(tmp_path, _timeline(device))
    found = [(row["kind"], row["name"], row["dur_ns"]) for row in reading.rows("slices")]
    counted = [row for row in found if row[0] in ("kernel", "copy")]
    assert counted == [("copy", "MEMCPYHtoD", 40_000), ("kernel", "MatMul", 50_000), ("kernel", "Relu", 20_000)]
    assert [row[1] for row in found if row[0] == "reported"] == ["MEMCPYHtoD", "MatMul", "Relu"]
    assert [row[1] for row in found if row[0] == "operator"] == ["NoOp", "MatMul", "Relu"]
    (rank,) = reading.rows("ranks")
    assert (rank["framework"], rank["device_kind"]) == ("tensorflow", "gpu")


def test_a_device_that_has_only_the_summary_of_its_streams_still_computes(tmp_path: Path) -> None:
    events = [event for event in _timeline("device:GPU:0") if event["pid"] not in (7, 9)]
    rows = _opened(tmp_path, events).rows("slices")
    assert sum(row["dur_ns"] for row in rows if row["kind"] == "kernel") == 70_000


def test_a_timeline_without_a_device_has_a_table_of_operators(tmp_path: Path) -> None:
    path = tmp_path / "cpu.json"
    events = [
        _process(1, f"{_TASK}/device:CPU:0 Compute"),
        _region(1, 0, "MatMul", 100, 50, "a"),
        _region(1, 1, "MatMul", 160, 30, "b"),
        _region(1, 0, "Softmax", 200, 5, "c"),
    ]
    path.write_text(json.dumps({"traceEvents": events}))
    run = stepscope.load(path, progress=False)
    rows = run.operators().to_dicts()
    assert [(row["name"], row["count"], row["total_us"]) for row in rows] == [("MatMul", 2, 80.0), ("Softmax", 1, 5.0)]
    (step,) = run.steps().to_dicts()
    assert (step["computing_us"], step["idle_us"]) == (85.0, pytest.approx(105 - 85, abs=0.002))


def test_a_trace_of_viztracer_has_a_table_of_functions(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    around = {"ph": "X", "cat": "FEE", "pid": 9, "tid": 9}
    events = [
        around | {"name": "main (a.py:1)", "ts": 10.5, "dur": 100.0},
        around | {"name": "load (a.py:9)", "ts": 20.5, "dur": 30.0},
        around | {"name": "load (a.py:9)", "ts": 60.5, "dur": 20.0},
    ]
    # Since 1.0 it states its clock by the key that PyTorch uses.
    stated = {"version": "1.1.1", "overflow": False, "baseTimeNanoseconds": 1795118230863516706}
    path.write_text(json.dumps({"traceEvents": events, "viztracer_metadata": stated}))
    rows = stepscope.load(path, progress=False).operators(by="operator").to_dicts()
    found = {row["name"]: (row["count"], row["total_us"], row["self_us"]) for row in rows}
    assert found == {"main (a.py:1)": (1, 100.0, 50.0), "load (a.py:9)": (2, 50.0, 50.0)}
