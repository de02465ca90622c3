"""Delivered files of a host that computes by itself, by hand: operators around others count with their own time."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from stepscope.deliver.capture_directory import deliver

_START = 1_794_713_980_000_000_000


def _slice(name: str, start: int, end: int, **further: Any) -> dict[str, Any]:
    row = {"kind": "operator", "name": name, "start_ns": _START + start, "dur_ns": end - start, "step": 1, "track": 1}
    return row | further


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A step of 200 ns: ``linear`` from 10 to 110 around ``mm`` (20 to 50) and ``add`` (60 to 90), while a reduction
    runs from 80 to 140 on another thread. Computing: 30 of mm, 30 of add, and of linear 10 + 10 + 0 alone."""
    return _delivered(tmp_path)


def _delivered(tmp_path: Path, *further: dict[str, Any]) -> Path:
    slices = [
        _slice("linear", 10, 110),
        _slice("mm", 20, 50, parent=0),
        _slice("add", 60, 90, parent=0),
        _slice("gloo:all_reduce", 80, 140, kind="collective", track=2),
        *further,
    ]
    tracks = [{"track": track, "kind": "host", "name": f"Thread {track}"} for track in (1, 2)]
    marks = {"host_start_ns": _START, "host_end_ns": _START + 200, "marks_from": "profiler_step", "step": 1}
    about = {"rank": 0, "device_kind": "cpu", "framework": "pytorch", "level": "Level1"}
    about["switches"] = '{"export_type": ["text", "db"]}'
    calls = [{"slice": 3, "kind": "all_reduce", "name": "gloo:all_reduce", "step": 1, "group": "world"}]
    calls[0] |= {"start_ns": _START + 80, "end_ns": _START + 140, "bytes": 6000}
    store = make_store(
        tmp_path / "store", slices=slices, tracks=tracks, steps=[marks], ranks=[about], collectives=calls
    )
    deliver(store, 0, tmp_path / "capture")
    return tmp_path / "capture" / "ASCEND_PROFILER_OUTPUT"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_step_trace_counts_own_time_as_computing(output: Path) -> None:
    (row,) = _rows(output / "step_trace_time.csv")
    expected = {
        "Computing": 0.080,
        "Communication": 0.060,
        "Overlapped": 0.010,
        "Communication(Not Overlapped)": 0.050,
        "Free": 0.070,  # 10 before the first operator, 60 behind the reduction
        "Stage": 0.200,
        "Preparing": 0.010,
    }
    assert {name: float(row[name]) for name in expected} == pytest.approx(expected)


def test_kernels_are_operators_with_their_own_time(output: Path) -> None:
    rows = {row["Name"]: row for row in _rows(output / "kernel_details.csv")}
    (call,) = (name for name in rows if name.startswith("hcom_allReduce__"))
    assert {name: row["Duration(us)"] for name, row in rows.items()} == {
        "linear": "0.040",
        "mm": "0.030",
        "add": "0.030",
        call: "0.060",
    }
    assert (rows[call]["Type"], rows[call]["Accelerator Core"]) == ("hcom_allReduce_", "HCCL")
    assert {row["Wait Time(us)"] for row in rows.values()} == {"0.000"}, "linear lasts from before mm to behind add"


def test_computed_lanes_are_those_of_the_steps(output: Path) -> None:
    events = json.loads((output / "trace_view.json").read_text("utf-8"))
    lanes = {"Computing": 0.0, "Communication": 0.0, "Communication(Not Overlapped)": 0.0, "Free": 0.0}
    for event in events:
        if event["ph"] == "X" and event["name"] in lanes:
            lanes[event["name"]] += event["dur"]
    assert lanes == pytest.approx(
        {"Computing": 0.080, "Communication": 0.060, "Communication(Not Overlapped)": 0.050, "Free": 0.070}
    )


def test_tasks_of_the_database_unite_to_computing(output: Path) -> None:
    with sqlite3.connect(output / "ascend_pytorch_profiler_0.db") as database:
        tasks = database.execute("SELECT startNs, endNs FROM TASK WHERE endNs > startNs ORDER BY startNs").fetchall()
        named = dict(
            database.execute(
                "SELECT value, sum(endNs - startNs) FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId) "
                "JOIN STRING_IDS ON id = name GROUP BY value"
            )
        )
    assert [(start - _START, end - _START) for start, end in tasks] == [(10, 20), (20, 50), (50, 60), (60, 90)]
    assert named == {"linear": 20, "mm": 30, "add": 30}


def test_an_operator_whose_own_time_is_all_spent_while_others_communicate_is_a_task_without_length(
    tmp_path: Path,
) -> None:
    """``select`` from 112 to 122 around ``as_strided`` (114 to 120), within the reduction."""
    output = _delivered(
        tmp_path, _slice("select", 112, 122, track=3), _slice("as_strided", 114, 120, track=3, parent=4)
    )
    with sqlite3.connect(output / "ascend_pytorch_profiler_0.db") as database:
        tasks = database.execute(
            "SELECT startNs, endNs FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId) "
            "JOIN STRING_IDS ON id = name WHERE value = 'select'"
        ).fetchall()
    assert tasks == [(_START + 112, _START + 112)]


@pytest.mark.parametrize(("second", "known"), [([0, 1], True), ([0, 1, 2], False)])
def test_the_other_end_of_a_call_that_names_no_group_is_known_where_all_groups_have_the_same_members(
    second: list[int], known: bool, tmp_path: Path
) -> None:
    call = {"slice": 0, "kind": "all_reduce", "name": "gloo:all_reduce", "step": 1, "bytes": 6_000}
    store = make_store(
        tmp_path / "store",
        slices=[_slice("gloo:all_reduce", 80, 140, kind="collective", track=1)],
        tracks=[{"track": 1, "kind": "host", "name": "Thread 1"}],
        steps=[{"host_start_ns": _START, "host_end_ns": _START + 200, "marks_from": "profiler_step", "step": 1}],
        ranks=[{"rank": 0, "device_kind": "cpu", "framework": "pytorch", "world_size": 2}],
        collectives=[call | {"start_ns": _START + 80, "end_ns": _START + 140}],
        groups=[{"group": "0", "ranks": [0, 1]}, {"group": "1", "ranks": second}],
    )
    deliver(store, 0, tmp_path / "capture")
    file = tmp_path / "capture" / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json"
    assert file.exists() is known
    if known:
        (links,) = (
            cells
            for name, cells in json.loads(file.read_text("utf-8"))["step1"]["collective"].items()
            if name.startswith("allreduce-total@")
        )
        assert links["0-1"]["Transit Size(MB)"] == pytest.approx(0.006)
        assert links["0-1"]["Transit Time(ms)"] == pytest.approx(60e-6)


def test_a_call_in_which_the_host_waits_for_its_peers_is_communication_in_all_files(tmp_path: Path) -> None:
    """From 150 to 180, on the thread of the operators, and no collective."""
    output = _delivered(tmp_path, _slice("c10d::allreduce_", 150, 180))
    (step,) = _rows(output / "step_trace_time.csv")
    assert (float(step["Computing"]), float(step["Communication"]), float(step["Free"])) == (0.080, 0.090, 0.040)
    (kernel,) = (row for row in _rows(output / "kernel_details.csv") if row["Name"] == "c10d::allreduce_")
    assert (kernel["Accelerator Core"], kernel["Duration(us)"]) == ("HCCL", "0.030")
    with sqlite3.connect(next(output.glob("ascend_pytorch_profiler_*.db"))) as database:
        calls = database.execute(
            "SELECT value, startNs, endNs FROM COMMUNICATION_OP JOIN STRING_IDS ON id = opName ORDER BY startNs"
        ).fetchall()
        tasks = database.execute("SELECT startNs, endNs FROM TASK WHERE startNs < endNs").fetchall()
    assert [(start - _START, end - _START) for _, start, end in calls] == [(80, 140), (150, 180)]
    assert calls[1][0] == "c10d::allreduce_"
    assert max(end for _, end in tasks) <= _START + 110, "computing alone is among the tasks"
    assert "c10d" not in (output / "communication.json").read_text("utf-8")
