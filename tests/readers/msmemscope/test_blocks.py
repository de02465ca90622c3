"""Blocks of memory: paired, owned, older than the window, lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from readers.msmemscope.opened_dumps import A, B, C, Read, block_rows
from readers.msmemscope_builder import Row, T, free, malloc, op


def lives(found: Read) -> list[tuple[Any, ...]]:
    names = ("pool", "address", "bytes", "alloc_seq", "free_seq", "before_window", "lost_free")
    return [tuple(row[name] for name in names) for row in found.rows("allocations")]


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


def test_lost_and_stray_frees_are_reported(read: Callable[..., Read]) -> None:
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
