from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readers.msmemscope_builder import HEADER, TRACE_HEADER, Row, T, csv_text, free, malloc, op, write_csv, write_db
from stepscope.errors import UnreadableInputError
from stepscope.readers import msmemscope
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.msmemscope import dump_file
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

A, B, C = 0x12C0_4140_0000, 0x12C0_4150_0000, 0x12C0_4160_0000


class Read:
    """The tables and notes of a dump."""

    def __init__(self, source: Source | Path, folder: Path) -> None:
        if isinstance(source, Path):
            source = Source(source, "msmemscope", 0, (source,))
        out = folder / f"tables-{len(list(folder.iterdir()))}"
        out.mkdir()
        writer, notes = RankWriter(out, 0), Notes()
        msmemscope.read(Reading(source, writer, notes))
        self.tables = {
            table: pl.concat([pl.read_parquet(out / name) for name in files]) for table, files in writer.close().items()
        }
        self.notes = {note.code: note.count for note in notes.all()}
        for note in notes.all():
            assert note.sentence("en")
            assert note.sentence("zh")

    def rows(self, table: str, **wanted: Any) -> list[dict[str, Any]]:
        found = self.tables[table].rows(named=True) if table in self.tables else []
        return [row for row in found if all(row[name] == value for name, value in wanted.items())]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def reading(rows: Sequence[Row]) -> Read:
        return Read(write_csv(tmp_path / "memscope_dump_1.csv", rows), tmp_path)

    return reading


def lives(found: Read) -> list[tuple[Any, ...]]:
    names = ("pool", "address", "bytes", "alloc_seq", "free_seq", "before_window", "lost_free")
    return [tuple(row[name] for name in names) for row in found.rows("allocations")]


# --- blocks --------------------------------------------------------------------------------------------------------


def block_rows() -> list[Row]:
    """As files have them: the rows of a block stand together, where it was freed."""
    return [
        malloc(10, 100, B, 512, more=",total:2048,used:1536"),
        free(12, 120, B, 512, more=",total:2048,used:1024"),
        malloc(5, 50, A, 1024, more=",total:2048,used:1024"),
        free(70, 700, A, 1024, more=",total:4096,used:0"),
        malloc(71, 710, A, 256, more=",total:4096,used:256"),
        malloc(73, 730, A, 4096, "HAL", more=",page_type:huge,alloc_type:create"),
        free(90, 900, A, 4096, "HAL"),
        malloc(80, 800, C, 8192, "HAL", more=",page_type:normal,alloc_type:alloc"),
        Row(1, "SYSTEM", "START_TRACE", time=1, device="N/A", attr="{free:5000,total:9000}"),
        Row(130, "SYSTEM", "STOP_TRACE", time=1300, device="N/A"),
    ]


def test_blocks_are_paired_in_the_order_of_their_numbers(read: Callable[..., Read]) -> None:
    found = read(block_rows())
    assert lives(found) == [
        ("PTA", A, 1024, 5, 70, False, False),
        ("PTA", B, 512, 10, 12, False, False),
        ("PTA", A, 256, 71, None, False, False),
        ("HAL", A, 4096, 73, 90, False, False),
        ("HAL", C, 8192, 80, None, False, False),
    ]
    first = found.rows("allocations")[0]
    assert (first["alloc_ns"], first["free_ns"], first["device"]) == (T + 50, T + 700, "npu:0")
    # The driver gives what was asked for; a pool tells only what it gave.
    assert [row["requested_bytes"] for row in found.rows("allocations")] == [None, None, None, 4096, 8192]


def test_the_curve_is_what_the_pools_state_and_the_sum_where_they_do_not(read: Callable[..., Read]) -> None:
    found = read(block_rows())
    pool = [(row["time_ns"] - T, row["allocated"], row["reserved"]) for row in found.rows("memory", component="PTA")]
    assert pool == [(50, 1024, 2048), (100, 1536, 2048), (120, 1024, 2048), (700, 0, 4096), (710, 256, 4096)]
    driver = [(row["time_ns"] - T, row["allocated"]) for row in found.rows("memory", component="HAL")]
    assert driver == [(730, 4096), (800, 12288), (900, 8192)]


def test_running_sums_of_blocks_equal_the_stated_use(read: Callable[..., Read]) -> None:
    chance = random.Random(4)
    live: list[tuple[int, int, int]] = []
    rows, used, address = [], 0, A
    for number in range(1, 400):
        if live and chance.random() < 0.45:
            begun, where, size = live.pop(chance.randrange(len(live)))
            used -= size
            rows.append((begun, free(number, number * 10, where, size, more=f",total:{1 << 30},used:{used}")))
        else:
            size = chance.randrange(1, 100) * 512
            used += size
            rows.append((number, malloc(number, number * 10, address, size, more=f",total:{1 << 30},used:{used}")))
            live.append((number, address, size))
            address += size if chance.random() < 0.5 else 0
            if any(where == address for _, where, _ in live):
                address += 1 << 20
    chance.shuffle(rows)
    found = read([row for _, row in rows])
    stated = [(row["time_ns"], row["allocated"]) for row in found.rows("memory", component="PTA")]
    changes = sorted(
        (moment, sign * row["bytes"])
        for row in found.rows("allocations")
        for moment, sign in ((row["alloc_ns"], 1), (row["free_ns"], -1))
        if moment is not None
    )
    total, sums = 0, []
    for moment, change in changes:
        total += change
        sums.append((moment, total))
    assert sums == stated


def test_blocks_older_than_the_window(read: Callable[..., Read]) -> None:
    found = read(
        [
            malloc(1, 1000, A, 512, "HAL", more=",shadow:true"),  # stamped with the start of the window
            free(9, 1900, A, 512, "HAL"),
            free(8, 1800, B, 256, "HAL"),  # its allocation was never seen
            malloc(10, 2000, C, 128, "HAL"),
        ]
    )
    assert lives(found) == [
        ("HAL", A, 512, None, 9, True, False),
        ("HAL", B, 256, None, 8, True, False),
        ("HAL", C, 128, 10, None, False, False),
    ]
    assert found.rows("allocations")[0]["alloc_ns"] is None
    assert [row["allocated"] for row in found.rows("memory")] == [512, 0, 128]
    assert found.notes["msmemscope_older_blocks"] == 2


def test_frees_that_the_tool_made_up_at_exit_mean_alive(read: Callable[..., Read]) -> None:
    found = read(
        [
            malloc(2, 20, A, 512),
            free(50, 999, A, 512, more=",shadow:true"),  # after the last window
            malloc(3, 30, B, 512),
            free(20, 200, B, 512, more=",shadow:true"),  # between two windows
            malloc(4, 40, C, 512),
            Row(40, "SYSTEM", "STOP_TRACE", time=400, device="N/A"),
        ]
    )
    assert lives(found) == [
        ("PTA", A, 512, 2, None, False, False),
        ("PTA", B, 512, 3, 20, False, False),
        ("PTA", C, 512, 4, None, False, False),
    ]
    assert found.notes["msmemscope_freed_at_exit"] == 1


def test_lost_and_stray_frees_are_told(read: Callable[..., Read]) -> None:
    found = read(
        [
            malloc(1, 10, A, 512, "HAL"),
            malloc(2, 20, A, 1024, "HAL"),
            free(3, 30, A, 1024, "HAL"),
            free(4, 40, A, 9, "HAL"),
        ]
    )
    assert lives(found) == [("HAL", A, 512, 1, None, False, True), ("HAL", A, 1024, 2, 3, False, False)]
    assert [row["allocated"] for row in found.rows("memory")] == [512, 1536, 1024, 0]
    assert (found.notes["msmemscope_free_lost"], found.notes["msmemscope_stray_free"]) == (1, 1)


def test_owners_workspace_and_the_tools_own_findings(read: Callable[..., Read]) -> None:
    found = read(
        [
            malloc(1, 10, A, 512, more=",total:9,used:5,owner:PTA@weight@ops"),
            malloc(2, 20, B, 256, more=",total:9,used:6,owner:PTA_WORKSPACE"),
            malloc(
                3,
                30,
                C,
                64,
                more=",total:9,used:7,owner:PTA@gradient,inefficient_type:early_allocation,late_deallocation",
            ),
            malloc(4, 40, C + 64, 64, more=",total:9,used:7,inefficient_type:late_deallocation"),
        ]
    )
    assert [(row["pool"], row["category"]) for row in found.rows("allocations")] == [
        ("PTA", "PTA@weight@ops"),
        ("PTA_WORKSPACE", "PTA_WORKSPACE"),
        ("PTA", "PTA@gradient"),
        ("PTA", None),
    ]
    told = {(row["key"], row["metric"]): row["value"] for row in found.rows("reported")}
    assert told == {
        ("inefficient_type: early_allocation", "blocks"): 1,
        ("inefficient_type: late_deallocation", "blocks"): 2,
        ("inefficient_type: early_allocation", "bytes"): 64,
        ("inefficient_type: late_deallocation", "bytes"): 128,
    }


def test_host_memory_keeps_its_own_device_and_the_size_of_the_process(read: Callable[..., Read]) -> None:
    found = read(
        [
            malloc(1, 10, A, 512, "HOST_PINNED", more=",pinned:true,used:70000", device="cpu"),
            malloc(2, 20, B, 512, more=",total:9,used:512,process_used:800,device_used:-1"),
        ]
    )
    assert [(row["device"], row["pool"]) for row in found.rows("allocations")] == [
        ("cpu", "HOST_PINNED"),
        ("npu:0", "PTA"),
    ]
    assert {(row["component"], row["allocated"]) for row in found.rows("memory")} == {
        ("process resident", 70000),
        ("HOST_PINNED", 512),
        ("PTA", 512),
        ("process", 800),
    }


def test_stacks_are_stored_once_outermost_first(read: Callable[..., Read]) -> None:
    python = "/home/u/net.py(7): forward\n/home/u/train.py(30): <module>\n"
    native = "libtorch_npu.so(+0x1) [0x2]\nlibc10.so(+0x3) [0x4]\n"
    found = read(
        [
            malloc(1, 10, A, 512, python_stack=python, c_stack=native),
            malloc(2, 20, B, 512, python_stack=python, c_stack=native),
            malloc(3, 30, C, 512, python_stack="NA"),
            malloc(4, 40, C + 4096, 512, python_stack=python),
        ]
    )
    numbers = [row["stack"] for row in found.rows("allocations")]
    assert numbers[0] == numbers[1] != numbers[3]
    assert numbers[2] is None
    frames = {row["stack"]: row["frames"].split("\n") for row in found.rows("stacks")}
    assert frames[numbers[0]] == [
        "/home/u/train.py(30): <module>",
        "/home/u/net.py(7): forward",
        "libc10.so(+0x3) [0x4]",
        "libtorch_npu.so(+0x1) [0x2]",
    ]
    assert len(frames[numbers[3]]) == 2
    assert "msmemscope_without_stacks" not in found.notes


def test_what_was_not_collected_names_its_switch(read: Callable[..., Read]) -> None:
    found = read([malloc(1, 10, A, 512)])
    assert {
        "msmemscope_without_frees",
        "msmemscope_without_stacks",
        "msmemscope_without_owners",
        "msmemscope_without_steps",
    } <= found.notes.keys()
    assert "msmemscope_without_blocks" in read([op(1, 1, "x"), op(2, 2, "x", end=True)]).notes


# --- the old spelling ----------------------------------------------------------------------------------------------


def test_an_old_msleaks_file_of_two_processes(tmp_path: Path) -> None:
    text = (
        ",".join(HEADER[:10]) + "\n"
        "1,SYSTEM,acl init,N/A,1746006014162153,11,11,N/A,N/A,\n"
        '2,MALLOC,HAL,N/A,1746006014361575,11,11,0,20615843020800,"{addr:20615843020800,size:16384,owner:,MID:7}"\n'
        '3,MALLOC,HAL,N/A,1746006014362653,11,11,host,20617990504448,"{addr:20617990504448,size:6356992,owner:,MID:7}"\n'
        "1,SYSTEM,acl init,N/A,1746006014418150,12,12,N/A,N/A,\n"
        '2,MALLOC,HAL,N/A,1746006014620278,12,12,0,20615843020800,"{addr:20615843020800,size:16384,owner:,MID:33}"\n'
        '4,FREE,HAL,N/A,1746006014720278,12,12,0,20615843020800,"{addr:20615843020800,size:16384,owner:,MID:33}"\n'
    )
    path = tmp_path / "leaks_dump_20250428.csv"
    path.write_text(text)
    found = Read(path, tmp_path)
    rows = [
        (row["device"], row["address"], row["bytes"], row["alloc_ns"], row["free_ns"], row["category"])
        for row in found.rows("allocations")
    ]
    assert sorted(rows, key=lambda row: row[3]) == [
        ("npu:0", 20615843020800, 16384, 1746006014361575000, None, "MID 7"),
        ("cpu", 20617990504448, 6356992, 1746006014362653000, None, "MID 7"),
        ("npu:0", 20615843020800, 16384, 1746006014620278000, 1746006014720278000, "MID 33"),
    ]
    assert found.notes["msmemscope_microseconds"] == 1
    assert [row["name"] for row in found.rows("slices")] == ["ACL_INIT", "ACL_INIT"]
    # Both processes count from 1, so the order is made from time.
    assert sorted(row["alloc_seq"] for row in found.rows("allocations")) == [1, 2, 4]


def test_windows_line_ends_a_byte_order_mark_and_new_columns(tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "memscope_dump_1.csv", block_rows())
    lines = plain.read_text().splitlines()
    widened = [lines[0] + ",Node Id"] + [line + ",7" for line in lines[1:]]
    other = tmp_path / "memscope_dump_2.csv"
    other.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(widened).encode())
    expected, found = Read(plain, tmp_path), Read(other, tmp_path)
    assert found.tables["allocations"].equals(expected.tables["allocations"])
    assert found.tables["memory"].equals(expected.tables["memory"])
    assert found.notes["msmemscope_column_ignored"] == 1


# --- the timeline --------------------------------------------------------------------------------------------------


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


# --- moments -------------------------------------------------------------------------------------------------------


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


# --- Python traces -------------------------------------------------------------------------------------------------


def functions() -> list[tuple[Any, ...]]:
    return [
        ("train.py(5): step", T + 10, T + 90, 100, 100),
        ("net.py(7): forward", T + 20, T + 60, 100, 100),
        ("open", T + 30, "N/A", 100, 100),
        ("returned only", "N/A", T + 40, 100, 100),
    ]


def check_functions(found: Read) -> None:
    rows = found.rows("slices", kind="python")
    assert {row["name"]: (row["start_ns"] - T, row["dur_ns"]) for row in rows} == {
        "train.py(5): step": (10, 80),
        "net.py(7): forward": (20, 40),
        "open": (30, 60),
    }
    assert (found.notes["begin_without_end"], found.notes["end_without_begin"]) == (1, 1)


def test_python_traces_beside_a_dump(tmp_path: Path) -> None:
    dump = write_csv(tmp_path / "memscope_dump_1.csv", [malloc(1, 10, A, 512)])
    trace = tmp_path / "python_trace_100_1.csv"
    lines = [
        ",".join(TRACE_HEADER),
        *(",".join(map(str, row)) for row in functions()),
        f"f(a, b),{T + 1},{T + 2},200,100",
    ]
    trace.write_text("\n".join(lines) + "\n")
    found = Read(Source(dump, "msmemscope", 0, (dump, trace)), tmp_path)
    (comma,) = found.rows("slices", name="f(a, b)")
    assert comma["dur_ns"] == 1
    found.tables["slices"] = found.tables["slices"].filter(pl.col("slice") != comma["slice"])
    check_functions(found)
    assert len(found.rows("allocations")) == 1


def test_python_traces_inside_a_database(tmp_path: Path) -> None:
    path = write_db(tmp_path / "memscope_dump_1.db", [malloc(1, 10, A, 512)], functions=functions())
    check_functions(Read(path, tmp_path))


def test_a_python_trace_alone(tmp_path: Path) -> None:
    path = tmp_path / "python_trace_1_2.csv"
    path.write_text(",".join(TRACE_HEADER) + f"\nf,{T},{T + 5},1,1\n")
    claimed = msmemscope.claim_file(path, path.read_bytes())
    assert claimed is not None
    assert [row["name"] for row in Read(claimed, tmp_path).rows("slices")] == ["f"]


# --- databases -----------------------------------------------------------------------------------------------------


def everything() -> list[Row]:
    return [
        *block_rows(),
        op(200, 60, "aten.add"),
        op(201, 75, "aten.add", end=True),
        Row(202, "MSTX", "Mark", "here", 80),
        Row(203, "SYSTEM", "STEP", "1", 500),
        Row(204, "KERNEL_LAUNCH", "KERNEL_LAUNCH", "k", 510, attr="{streamId:1,taskId:2}"),
        Row(205, "KERNEL_LAUNCH", "KERNEL_EXECUTE_START", "k", 520, "N/A", "N/A", attr="{streamId:1,taskId:2}"),
        Row(206, "KERNEL_LAUNCH", "KERNEL_EXECUTE_END", "k", 530, "N/A", "N/A", attr="{streamId:1,taskId:2}"),
        malloc(
            207, 540, C + 4096, 64, more=",total:1,used:64,owner:PTA@weight", python_stack="b.py(2): g\na.py(1): f\n"
        ),
    ]


@pytest.mark.parametrize("table", ["memscope_dump", "leaks_dump"])
def test_a_database_gives_the_same_tables_as_text(table: str, tmp_path: Path) -> None:
    text = Read(write_csv(tmp_path / "memscope_dump_1.csv", everything()), tmp_path)
    database = Read(write_db(tmp_path / "leaks_dump_1.db", everything(), table), tmp_path)
    assert text.tables.keys() == database.tables.keys()
    for name in text.tables.keys() - {"ranks", "reported"}:
        assert database.tables[name].equals(text.tables[name]), name


def test_the_broken_json_of_early_databases_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    rows = [
        malloc(1, 10, A, 512, more=",total:1,used:512,owner:PTA@x,inefficient_type:early_allocation,late_deallocation")
    ]
    found = Read(write_db(tmp_path / "memscope_dump_1.db", rows), tmp_path)
    (block,) = found.rows("allocations")
    assert (block["bytes"], block["category"]) == (512, "PTA@x")


def test_rows_left_in_the_write_ahead_log_are_read_and_nothing_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    path = write_db(folder / "memscope_dump_1.db", [malloc(1, 10, A, 512)])
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    other = write_db(tmp_path / "more.db", [malloc(2, 20, B, 1024)])
    writer.execute("ATTACH ? AS more", (str(other),))
    writer.execute("INSERT INTO main.memscope_dump SELECT * FROM more.memscope_dump")
    writer.commit()
    copied = tmp_path / "killed"  # as after a kill: the log is there, nobody has it open
    copied.mkdir()
    for file in folder.iterdir():
        if not file.name.endswith("-shm"):
            (copied / file.name).write_bytes(file.read_bytes())
    writer.close()
    before = {file.name: file.read_bytes() for file in copied.iterdir()}
    assert "memscope_dump_1.db-wal" in before
    claimed = msmemscope.claim(copied, [], list(before))
    assert claimed is not None
    assert sorted(row["bytes"] for row in Read(claimed[0], tmp_path).rows("allocations")) == [512, 1024]
    assert {file.name: file.read_bytes() for file in copied.iterdir()} == before


def test_a_damaged_database_tells_and_keeps_what_it_could_read(tmp_path: Path) -> None:
    path = write_db(tmp_path / "memscope_dump_1.db", [malloc(n, n, A + 512 * n, 512) for n in range(1, 3000)])
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 9000] = bytes(9000)
    path.write_bytes(raw)
    try:
        found = Read(path, tmp_path)
        assert found.notes["msmemscope_database_damaged"] == 1
    except UnreadableInputError as error:
        assert error.code == "no_events"
    path.write_bytes(b"SQLite format 3\0" + random.Random(1).randbytes(5000))
    with pytest.raises(UnreadableInputError):
        Read(path, tmp_path)


# --- discovery -----------------------------------------------------------------------------------------------------


def walk(directory: Path) -> list[Source] | None:
    folders = [path.name for path in directory.iterdir() if path.is_dir()]
    return msmemscope.claim(directory, folders, [path.name for path in directory.iterdir() if path.is_file()])


def test_the_results_of_many_processes_are_one_source_per_device(tmp_path: Path) -> None:
    root = tmp_path / "memscopeDumpResults"
    for rank, pid in ((0, 11), (1, 12)):
        process = root / f"msmemscope_{pid}_2025112510301{rank}_ascend"
        write_csv(process / f"device_{rank}" / "dump" / "memscope_dump_1.csv", [malloc(1, 10, A, 512)])
        (process / "config.json").write_text('{"events": ["alloc", "free"]}')
    write_csv(
        root / "msmemscope_11_20251125103010_ascend" / "device_cpu" / "dump" / "memscope_dump_2.csv",
        [malloc(2, 20, B, 64, "HOST_PINNED", ",pinned:true", device="cpu")],
    )
    trace = root / "msmemscope_11_20251125103010_ascend" / "device_0" / "dump" / "python_trace_11_1.csv"
    trace.write_text(",".join(TRACE_HEADER) + f"\nf,{T},{T + 5},1,11\n")
    (root / "compare").mkdir()
    found = walk(root)
    assert found is not None
    assert [(source.rank, source.path.name, source.worker, source.form) for source in found] == [
        (0, "device_0", "11", "text"),
        (1, "device_1", "12", "text"),
    ]
    assert [file.name for file in found[0].files] == [
        "memscope_dump_1.csv",
        "memscope_dump_2.csv",
        "python_trace_11_1.csv",
        "config.json",
    ]
    first = Read(found[0], tmp_path)
    assert [(row["device"], row["bytes"]) for row in first.rows("allocations")] == [("npu:0", 512), ("cpu", 64)]
    assert json.loads(first.rows("ranks")[0]["switches"]) == {"events": ["alloc", "free"]}
    assert [source.rank for source in walk(root / "msmemscope_12_20251125103011_ascend") or []] == [1]


def test_older_layouts_are_found(tmp_path: Path) -> None:
    dump = write_csv(tmp_path / "leaksDumpResults" / "dump" / "leaks_dump_1.csv", [malloc(1, 10, A, 512)])
    found = walk(tmp_path / "leaksDumpResults")
    assert found is not None
    assert [source.files for source in found] == [(dump,)]
    assert [source.files for source in walk(dump.parent) or []] == [(dump,)]


def test_a_dump_in_both_forms_gives_both(tmp_path: Path) -> None:
    write_csv(tmp_path / "memscope_dump_1.csv", [malloc(1, 10, A, 512)])
    write_db(tmp_path / "memscope_dump_1.db", [malloc(1, 10, A, 512)])
    assert [source.form for source in walk(tmp_path) or []] == ["text", "db"]


def test_other_directories_are_left_alone(tmp_path: Path) -> None:
    assert walk(tmp_path) is None
    (tmp_path / "device_0").mkdir()
    assert walk(tmp_path) is None
    (tmp_path / "trace.json").write_text("{}")
    write_csv(tmp_path / "memscope_dump_1.csv", [malloc(1, 10, A, 512)])
    assert walk(tmp_path) is None


def test_a_single_file_is_known_by_what_it_holds(tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "device_3" / "dump" / "renamed.csv", [malloc(1, 10, A, 512)])
    claimed = msmemscope.claim_file(plain, plain.read_bytes()[:1000])
    assert claimed is not None
    assert (claimed.rank, claimed.form) == (3, "text")
    base = write_db(tmp_path / "renamed.bin", [malloc(1, 10, A, 512)])
    claimed = msmemscope.claim_file(base, base.read_bytes()[:1000])
    assert claimed is not None
    assert claimed.form == "db"
    assert msmemscope.claim_file(plain, b"Name,Size(KB),Allocation Time(us)\n1,2,3\n") is None
    assert msmemscope.claim_file(plain, b"") is None
    assert msmemscope.claim_file(plain, b"SQLite format 3\0" + bytes(100)) is None


# --- hostile files -------------------------------------------------------------------------------------------------


def test_small_pieces_give_the_same_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_csv(tmp_path / "memscope_dump_1.csv", everything() * 3)
    expected = Read(path, tmp_path)
    raw = path.read_bytes()
    for size in (97, 500, 1000):
        monkeypatch.setattr(
            dump_file, "blocks", lambda *_, size=size: (raw[at : at + size] for at in range(0, len(raw), size))
        )
        found = Read(path, tmp_path)
        for name in expected.tables:
            assert found.tables[name].equals(expected.tables[name]), name


def test_names_with_bare_commas_and_quotes(tmp_path: Path) -> None:
    lines = csv_text(
        [Row(1, "SNAPSHOT", "SNAPSHOT", "a, b, c", 5, attr="{reserved:2,allocated:1}"), malloc(3, 10, A, 512)]
    ).splitlines()
    lines.insert(2, f'2,MSTX,Mark,"say "hi" twice",{T + 6},100,100,0,N/A,,,')
    path = tmp_path / "memscope_dump_1.csv"
    path.write_text("\n".join(lines) + "\n")
    found = Read(path, tmp_path)
    assert [row["allocated"] for row in found.rows("memory", component="PTA snapshot")] == [1]
    assert len(found.rows("allocations")) == 1
    assert len(found.rows("slices", kind="mark")) == 1


def test_a_quote_that_never_ends_costs_rows_but_not_the_file(tmp_path: Path) -> None:
    rows = [malloc(n, n, A + 512 * n, 512) for n in range(1, 200)]
    lines = csv_text(rows).splitlines()
    lines[50] = lines[50].replace('}"', "}")
    path = tmp_path / "memscope_dump_1.csv"
    path.write_text("\n".join(lines) + "\n")
    found = Read(path, tmp_path)
    assert len(found.rows("allocations")) > 40


@pytest.mark.parametrize("missing", HEADER)
def test_a_missing_column_does_no_harm(missing: str, tmp_path: Path) -> None:
    place = HEADER.index(missing)
    path = tmp_path / "memscope_dump_1.csv"
    rows = csv_text([Row(1, "SYSTEM", "ACL_INIT", time=5), Row(2, "MSTX", "Mark", "m", 6)]).splitlines()
    path.write_text(
        "\n".join(",".join(part for at, part in enumerate(line.split(",")) if at != place) for line in rows) + "\n"
    )
    try:
        Read(path, tmp_path)
    except UnreadableInputError as error:
        assert missing in ("Event", "Name")
        assert error.code == "msmemscope_no_header"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"\x00" * 1000,
        b"ID,Event\n1,2\n",
        ",".join(HEADER).encode(),
        ",".join(HEADER).encode() + b"\n",
        ",".join(HEADER).encode() + b"\n" + b"," * 5000 + b"\n",
        ",".join(HEADER).encode() + b'\n"' + b"x" * 100_000,
        random.Random(3).randbytes(3000),
    ],
    ids=range(9),
)
def test_files_without_rows_are_refused_clearly(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "memscope_dump_1.csv"
    path.write_bytes(raw)
    try:
        found = Read(path, tmp_path)
        assert not found.rows("allocations")
    except UnreadableInputError as error:
        assert error.message("zh")
    assert path.read_bytes() == raw


def test_absurd_numbers_do_no_harm(tmp_path: Path) -> None:
    big = 10**30
    rows = [
        malloc(1, 10, 2**64 - 1, big),
        malloc(2, 20, 2**63 - 1, -5),
        malloc(3, 10**25, A, 512),
        malloc(big, 40, B, 512, pid=big, tid=-7, device=99999),
        Row(5, "SNAPSHOT", "SNAPSHOT", "s", 50, attr=f"{{reserved:{big},allocated:-1,total:x,free:nan}}"),
        Row(6, "SYSTEM", "STEP", str(big), 60),
        Row(7, "SYSTEM", "STEP", "one", 70),
        Row(8, "KERNEL_LAUNCH", "KERNEL_EXECUTE_START", "k", 80, attr=f"{{streamId:{big},taskId:-1}}"),
        Row(9, "WHATEVER", "X", "y", 90),
    ]
    found = Read(write_csv(tmp_path / "memscope_dump_1.csv", rows), tmp_path)
    assert found.notes["msmemscope_event_unknown"] == 1
    assert found.notes["event_without_time"] == 1
    assert found.notes["memory_event_incomplete"] == 1


@pytest.mark.parametrize("form", ["csv", "db"])
def test_dumps_cut_anywhere_never_end_in_a_traceback(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"memscope_dump_1.{form}"
    (write_csv if form == "csv" else write_db)(path, everything())
    raw = path.read_bytes()
    for number, cut in enumerate(range(0, len(raw), max(1, len(raw) // 60))):
        path.write_bytes(raw[:cut])
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            Read(path, folder)
        except UnreadableInputError as error:
            assert error.message()


@pytest.mark.parametrize("form", ["csv", "db"])
def test_damaged_dumps_never_end_in_a_traceback(form: str, tmp_path: Path) -> None:
    chance = random.Random(form)
    path = tmp_path / f"memscope_dump_1.{form}"
    (write_csv if form == "csv" else write_db)(path, everything())
    raw = path.read_bytes()
    for number in range(60):
        broken = bytearray(raw)
        for _ in range(chance.randint(1, 30)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        path.write_bytes(broken)
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            Read(path, folder)
        except UnreadableInputError as error:
            assert error.message()
        assert path.read_bytes() == bytes(broken)
