"""Which operator and which stack PyTorch traces state for a slice, and how that is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.kineto_truth import truth
from support.reading import Reading, read
from support.samples import KINETO
from support.traces import Event, call, complete, document, kernel, operator, write


def opened(tmp_path: Path, events: list[Event]) -> Reading:
    return read(write(tmp_path / "trace.json", document(events)))


def by(external: int, **more: Any) -> dict[str, Any]:
    return {"External id": external} | more


def test_the_external_id_names_the_operator_where_whole_microseconds_tie(tmp_path: Path) -> None:
    # Both operators are open at 120 us, where two calls of no length lie; at 190 us the inner one has just ended.
    events = [
        operator("aten::mat_mul", 100_000, 100_000, **by(2)),
        operator("aten::mm", 120_000, 70_000, **by(4)),
    ]
    for number, (start_ns, external) in enumerate([(120_000, 4), (120_000, 2), (190_000, 4), (190_000, 2)]):
        events.append(call(f"launch {number}", start_ns, 0, number, **by(external)))
        events.append(kernel(f"kernel {number}", 300_000 + 10_000 * number, 5_000, number, **by(external)))
    found = {row["name"]: row["operator"] for row in opened(tmp_path, events).rows("slices")}
    for number, expected in enumerate(["aten::mm", "aten::mat_mul", "aten::mm", "aten::mat_mul"]):
        assert found[f"launch {number}"] == found[f"kernel {number}"] == expected, number


def test_where_two_operators_have_the_id_the_one_around_the_launch_is_meant(tmp_path: Path) -> None:
    events = [
        operator("aten::first", 1_000, 100, **by(5)),
        operator("aten::second", 2_000, 100, **by(5)),
        call("cudaLaunchKernel", 2_010, 10, 1, **by(5)),
        kernel("k", 3_000, 10, 1, **by(5)),
    ]
    assert opened(tmp_path, events).named("k")["operator"] == "aten::second"


def test_zero_is_no_external_id(tmp_path: Path) -> None:
    events = [
        operator("aten::first", 1_000, 100, **by(0)),
        operator("aten::around", 2_000, 100, **by(7)),
        call("cudaLaunchKernel", 2_010, 10, 1, **by(0)),
        kernel("k", 3_000, 10, 1, **by(0)),
        kernel("alone", 4_000, 10, 2, **by(0)),
    ]
    reading = opened(tmp_path, events)
    assert reading.named("k")["operator"] == "aten::around"
    assert reading.named("alone")["operator"] is None


def test_device_work_of_the_samples_belongs_to_the_operator_that_it_names(shared_data: Path) -> None:
    assert KINETO.is_relative_to(shared_data)
    asked = 0
    for name in ("h200_plain.json.gz", "gpt_stack.json.gz"):
        events, slices = truth(KINETO / name).events, read(KINETO / name).slices
        names = {
            event["args"]["External id"]: event["name"]
            for event in events
            if event.get("cat") == "cpu_op" and "External id" in event.get("args", {})
        }
        for index, event in enumerate(events):
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and event["ph"] == "X":
                named = names.get(event["args"].get("External id"))
                asked += named is not None
                assert named is None or slices[index]["operator"] == named, (name, index)
    assert asked > 1_500


def test_a_stated_stack_is_turned_so_that_its_outermost_frame_comes_first(tmp_path: Path) -> None:
    # As torch writes it: from the call outwards, a separator behind each frame.
    stated = "<built-in function linear>;net.py(7): forward;train.py(3): main;"
    events = [
        operator("aten::linear", 1_000, 100, **{"Call stack": stated}),
        operator("aten::relu", 2_000, 100, **{"Call stack": "net.py(8): forward;\r\ntrain.py(3): main"}),
        complete("cpu_op", "aten::none", 3_000, 100, pid=100, **{"Call stack": ""}),
        operator("aten::old", 4_000, 100, **{"call stack": "net.py(9): forward;train.py(3): main"}),
    ]
    reading = opened(tmp_path, events)
    frames = {row["stack"]: row["frames"].splitlines() for row in reading.rows("stacks")}
    outermost_first = ["train.py(3): main", "net.py(7): forward", "<built-in function linear>"]
    assert frames[reading.named("aten::linear")["stack"]] == outermost_first
    assert frames[reading.named("aten::relu")["stack"]] == ["train.py(3): main", "net.py(8): forward"]
    assert frames[reading.named("aten::none")["stack"]] == []
    assert frames[reading.named("aten::old")["stack"]] == ["train.py(3): main", "net.py(9): forward"]


def test_a_begin_and_its_end_hand_their_arguments_to_their_slice(tmp_path: Path) -> None:
    begin = {"ph": "B", "cat": "user_annotation", "name": "load", "pid": 100, "tid": 1, "ts": 1, "args": {"a": 1}}
    reading = opened(tmp_path, [begin, {"ph": "E", "pid": 100, "tid": 1, "ts": 5, "args": {"b": 2}}])
    (row,) = reading.rows("details")
    assert (row["slice"], json.loads(row["json"])) == (0, {"a": 1, "b": 2})
