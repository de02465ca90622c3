"""Memory events become blocks with their lives."""

from __future__ import annotations

from readers.kineto.opened_traces import Opened
from support.traces import (
    memory,
    operator,
)


# memory
def test_blocks_live_from_their_allocation_to_the_free_at_their_address(opened: Opened) -> None:
    events = [
        operator("aten::empty", 1_000, 500),
        memory(1_100, 512, 0xA000, 512),
        memory(1_200, 256, 0xB000, 768),
        memory(2_000, -512, 0xA000, 256),
        memory(3_000, 128, 0xA000, 384),  # the address again
        memory(3_500, 64, 0xB000, 448),  # again, and the free of 256 bytes is lost
        memory(4_000, -1_024, 0xC000, 448),  # from before the window
        memory(5_000, 32, 0xA000, 32, device=-1, device_type=0),  # another device has its own addresses
    ]
    reading = opened(events)
    keys = ("device", "address", "bytes", "alloc_ns", "free_ns", "before_window", "lost_free", "operator")
    found = [tuple(row[key] for key in keys) for row in reading.rows("allocations")]
    assert sorted(found, key=lambda row: (row[0], row[3] or 0)) == [
        ("cpu", 0xA000, 32, 5_000, None, False, False, None),
        ("cuda:0", 0xC000, 1_024, None, 4_000, True, False, None),
        ("cuda:0", 0xA000, 512, 1_100, 2_000, False, False, "aten::empty"),
        ("cuda:0", 0xB000, 256, 1_200, None, False, True, "aten::empty"),
        ("cuda:0", 0xA000, 128, 3_000, None, False, False, None),
        ("cuda:0", 0xB000, 64, 3_500, None, False, False, None),
    ]
    curve = [(row["device"], row["time_ns"], row["allocated"], row["reserved"]) for row in reading.rows("memory")]
    assert sorted(curve) == [
        ("cpu", 5_000, 32, 4_096),
        ("cuda:0", 1_100, 512, 4_096),
        ("cuda:0", 1_200, 768, 4_096),
        ("cuda:0", 2_000, 256, 4_096),
        ("cuda:0", 3_000, 384, 4_096),
        ("cuda:0", 3_500, 448, 4_096),
        ("cuda:0", 4_000, 448, 4_096),
    ]
    assert [row["name"] for row in reading.rows("slices")] == ["aten::empty"]


def test_memory_events_at_one_moment_keep_the_order_of_the_file(opened: Opened) -> None:
    reading = opened([memory(1_000, 8, 16, 8), memory(1_000, -8, 16, 0), memory(1_000, 24, 16, 24)])
    found = sorted((row["bytes"], row["alloc_seq"], row["free_seq"]) for row in reading.rows("allocations"))
    assert found == [(8, 0, 1), (24, 2, None)]


def test_memory_events_that_lack_what_matters_are_counted(opened: Opened) -> None:
    broken = [memory(1_000, 8, 16, 8) for _ in range(3)]
    del broken[0]["args"]["Bytes"]
    broken[1]["args"]["Addr"] = None
    broken[2]["ts"] = "later"
    reading = opened([memory(2_000, 8, 16, 8), *broken])
    assert len(reading.rows("allocations")) == 1
    assert reading.codes["memory_event_incomplete"] == 2
    assert reading.codes["memory_without_address"] == 1
