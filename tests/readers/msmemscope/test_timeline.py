"""Operators, kernels, marks, steps and moments on the timeline."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from readers.msmemscope.opened_dumps import A, B, C, Read
from readers.msmemscope_builder import Row, T, malloc, op


def test_operators_nest_on_their_threads_and_own_what_they_allocate(read: Callable[..., Read]) -> None:
    found = read(
        [
            op(1, 10, "aten.linear"),
            op(2, 20, "aten.addmm"),
            malloc(3, 25, A, 512),
            op(4, 30, "aten.addmm", end=True),
            malloc(5, 35, B, 512),
            op(6, 36, "aten.mm", tid=200),
            malloc(7, 37, C, 512, tid=200),
            op(8, 40, "aten.linear", end=True),
            op(9, 50, "aten.mm", end=True, tid=200),
            malloc(10, 60, C + 4096, 512),
        ]
    )
    slices = {row["name"]: row for row in found.rows("slices", kind="operator")}
    assert {name: (row["start_ns"] - T, row["dur_ns"], row["row"]) for name, row in slices.items()} == {
        "aten.linear": (10, 30, 0),
        "aten.addmm": (20, 10, 1),
        "aten.mm": (36, 14, 0),
    }
    assert slices["aten.addmm"]["parent"] == slices["aten.linear"]["slice"]
    assert [row["operator"] for row in found.rows("allocations")] == ["aten.addmm", "aten.linear", "aten.mm", None]
    assert [(row["kind"], row["name"], row["process"]) for row in found.rows("tracks")] == [
        ("host", "thread 100", "process 100"),
        ("host", "thread 200", "process 100"),
    ]


def test_begins_without_end_and_ends_without_begin(read: Callable[..., Read]) -> None:
    found = read(
        [
            op(1, 10, "a", end=True),
            op(2, 20, "b"),
            op(3, 30, "c"),  # its end is missing: it ends with what is around it
            op(4, 40, "b", end=True),
            op(5, 50, "d"),
            op(6, 60, "e"),
            op(7, 70, "e", end=True),
        ]
    )
    slices = {row["name"]: (row["start_ns"] - T, row["dur_ns"]) for row in found.rows("slices")}
    assert slices == {"b": (20, 20), "c": (30, 10), "d": (50, 20), "e": (60, 10)}
    assert (found.notes["end_without_begin"], found.notes["begin_without_end"]) == (1, 2)


def test_kernels_run_on_streams_and_are_linked_to_their_launch(read: Callable[..., Read]) -> None:
    def kernel(number: int, kind: str, time: int, **fields: Any) -> Row:
        return Row(number, "KERNEL_LAUNCH", kind, "add01", time, attr="{streamId:3,taskId:9}", **fields)

    away = {"pid": "N/A", "tid": "N/A"}
    found = read(
        [
            kernel(1, "KERNEL_LAUNCH", 10),
            kernel(2, "KERNEL_EXECUTE_START", 30, **away),
            kernel(3, "KERNEL_EXECUTE_END", 45, **away),
            kernel(4, "KERNEL_LAUNCH", 50),  # numbers of tasks come again
            kernel(5, "KERNEL_EXECUTE_START", 60, **away),
            kernel(6, "KERNEL_EXECUTE_END", 65, **away),
            Row(
                7,
                "KERNEL_LAUNCH",
                "KERNEL_START",
                "AddF16Kernel",
                70,
                attr="{path:0_1/1/0_Graph/0_AddF16Kernel/before}",
            ),
            Row(8, "KERNEL_LAUNCH", "KERNEL_END", "AddF16Kernel", 75, attr="{path:0_1/1/0_Graph/0_AddF16Kernel/after}"),
            op(9, 80, "0_Elewise", kind="ATB", attr="{path:0/0_1/op,workspace ptr:0x12313,workspace size:12}"),
            op(10, 90, "0_Elewise", end=True, kind="ATB"),
        ]
    )
    kernels = found.rows("slices", kind="kernel")
    assert [(row["start_ns"] - T, row["dur_ns"], row["stream"], row["correlation"]) for row in kernels] == [
        (30, 15, 3, 9),
        (60, 5, 3, 9),
    ]
    launches = sorted(found.rows("slices", kind="runtime", dur_ns=0), key=lambda row: int(row["start_ns"]))
    assert [(row["from_slice"], row["to_slice"]) for row in found.rows("links", kind="launch")] == [
        (launches[0]["slice"], kernels[0]["slice"]),
        (launches[1]["slice"], kernels[1]["slice"]),
    ]
    tracks = {row["track"]: row for row in found.rows("tracks")}
    assert (tracks[kernels[0]["track"]]["kind"], tracks[kernels[0]["track"]]["name"]) == ("stream", "stream 3")
    details = {row["slice"]: json.loads(row["json"]) for row in found.rows("details")}
    (atb,) = found.rows("slices", kind="operator")
    assert details[atb["slice"]] == {"path": "0/0_1/op", "workspace ptr": "0x12313", "workspace size": "12"}
    assert [row["dur_ns"] for row in found.rows("slices", name="AddF16Kernel")] == [5]


def test_marks_and_ranges_lose_the_tools_quotes(read: Callable[..., Read]) -> None:
    found = read(
        [
            Row(1, "MSTX", "Mark", "epoch, 1", 10),
            Row(2, "MSTX", "Range_start", '"load"', 20),  # written for two devices, so quoted twice
            Row(3, "MSTX", "Range_start", "inner", 30),
            Row(4, "MSTX", "Range_end", "", 40),
            Row(5, "MSTX", "Range_end", "", 60),
        ]
    )
    assert {(row["name"], row["kind"], row["start_ns"] - T, row["dur_ns"]) for row in found.rows("slices")} == {
        ("epoch, 1", "mark", 10, 0),
        ("load", "annotation", 20, 40),
        ("inner", "annotation", 30, 10),
    }


def test_steps_from_ranges_named_step_start(read: Callable[..., Read]) -> None:
    rows = []
    for step in range(3):
        rows += [
            Row(10 * step + 1, "MSTX", "Range_start", "step start", 100 * step),
            Row(10 * step + 2, "MSTX", "Range_end", "", 100 * step + 80),
        ]
    found = read(rows)
    assert [
        (row["step"], row["host_start_ns"] - T, row["host_end_ns"] - T, row["marks_from"])
        for row in found.rows("steps")
    ] == [
        (1, 0, 80, "mstx"),
        (2, 100, 180, "mstx"),
        (3, 200, 280, "mstx"),
    ]
    assert [row["step"] for row in found.rows("slices", kind="step")] == [1, 2, 3]


def test_a_step_call_ends_its_step_and_begins_the_next(read: Callable[..., Read]) -> None:
    found = read(
        [
            Row(1, "SYSTEM", "START_TRACE", time=5, device="N/A"),
            malloc(2, 10, A, 512),
            Row(3, "SYSTEM", "STEP", "1", 100),
            malloc(4, 110, B, 512),
            Row(5, "SYSTEM", "STEP", "2", 200),
            malloc(6, 210, C, 512),
        ]
    )
    assert [
        (row["step"], row["host_start_ns"] - T, row["host_end_ns"] - T, row["incomplete"])
        for row in found.rows("steps")
    ] == [
        (1, 5, 100, False),
        (2, 100, 200, False),
        (3, 200, 211, True),
    ]
    assert found.rows("steps")[0]["marks_from"] == "msmemscope_step"
    assert "msmemscope_without_steps" not in found.notes


def test_accesses_stand_on_a_track_of_their_own(read: Callable[..., Read]) -> None:
    attr = "{allocation_id:1,addr:0x3039,size:10,type:PTA,dtype:torch.float16,shape:torch.Size([1,5])}"
    found = read([malloc(1, 10, A, 512), Row(2, "ACCESS", "READ", "aten.add", 20, ptr=f"0x{A:x}", attr=attr)])
    (access,) = found.rows("slices", kind="mark")
    assert (access["name"], access["type"], access["bytes"]) == ("aten.add", "READ", 10)
    assert json.loads(found.rows("details")[0]["json"])["shape"] == "torch.Size([1,5])"
    assert [row["kind"] for row in found.rows("tracks")] == ["annotation"]


def test_snapshots_and_out_of_memory(read: Callable[..., Read]) -> None:
    snapshot = "{reserved:2000,max_reserved:3000,allocated:1000,total:9000,free:4000,device_rate:55.5}"
    found = read(
        [
            Row(1, "SYSTEM", "START_TRACE", time=1, device="N/A", attr="{free:8000,total:9000}"),
            Row(2, "SNAPSHOT", "SNAPSHOT", "after forward", 20, attr=snapshot),
            Row(
                3,
                "OOM_DETAIL",
                "OOM_TRIGGER",
                "OOM_Trigger",
                30,
                attr="{func:halMemAlloc,req_size:777,flag:5}",
                python_stack="a.py(1): f\n",
            ),
            Row(
                4,
                "OOM_DETAIL",
                "OOM_RECENT_ALLOC",
                "OOM_RecentAlloc",
                31,
                device="N/A",
                attr="{pool:PTA,ptr:0x12,size:512,timestamp:7}",
            ),
            Row(
                5,
                "OOM_DETAIL",
                "OOM_TOP_ALLOC",
                "OOM_TopAlloc",
                32,
                device="N/A",
                attr="{pool:HAL,ptr:0x13,size:1024,timestamp:8}",
            ),
        ]
    )
    assert [(row["kind"], row["bytes"], row["free_bytes"], row["seq"]) for row in found.rows("memory_events")] == [
        ("trace_start", None, 8000, 1),
        ("snapshot", 1000, 4000, 2),
        ("oom", 777, None, 3),
        ("oom_recent_alloc", 512, None, 4),
        ("oom_top_alloc", 1024, None, 5),
    ]
    assert found.rows("memory_events", kind="oom")[0]["stack"] == 0
    assert [(row["component"], row["allocated"], row["reserved"]) for row in found.rows("memory")] == [
        ("PTA snapshot", 1000, 2000)
    ]
    assert found.rows("ranks")[0]["memory_capacity"] == 9000
    assert {row["metric"]: row["value"] for row in found.rows("reported", key="after forward")}["device_rate"] == 55.5
