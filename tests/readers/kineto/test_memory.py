"""``[memory]`` events of old writers, which carry neither addresses nor totals."""

from __future__ import annotations

from pathlib import Path

from support.reading import Reading, read
from support.traces import Event, document, memory, operator, write


def opened(tmp_path: Path, events: list[Event]) -> Reading:
    return read(write(tmp_path / "trace.json", document([operator("aten::empty", 500, 9_000), *events])))


def without(event: Event, *keys: str) -> Event:
    return event | {"args": {key: value for key, value in event["args"].items() if key not in keys}}


def curve(reading: Reading, device: str) -> list[tuple[int, int, int | None]]:
    rows = [row for row in reading.rows("memory") if row["device"] == device]
    return [(row["time_ns"], row["allocated"], row["reserved"]) for row in rows]


_TOTALS = ("Total Allocated", "Total Reserved")


def test_events_without_address_are_part_of_the_curve_but_are_no_blocks(tmp_path: Path) -> None:
    events = [memory(1_000, 100, 1, 700), memory(2_000, -40, 1, 660), memory(3_000, 8, 1, 668)]
    reading = opened(tmp_path, [without(events[0], "Addr"), without(events[1], "Addr"), events[2]])
    assert curve(reading, "cuda:0") == [(1_000, 700, 4_096), (2_000, 660, 4_096), (3_000, 668, 4_096)]
    assert [row["bytes"] for row in reading.rows("allocations")] == [8]
    assert reading.codes == {"no_step_marks": 1, "memory_without_address": 2}


def test_without_totals_sizes_are_added_up_above_what_was_freed_from_before(tmp_path: Path) -> None:
    # Sums: 100, -150, 50. At least 150 bytes lived before.
    events = [memory(3_000, 200, 1, 0), memory(1_000, 100, 1, 0), memory(2_000, -250, 1, 0)]
    reading = opened(tmp_path, [without(event, "Addr", *_TOTALS) for event in events])
    assert curve(reading, "cuda:0") == [(1_000, 250, None), (2_000, 0, None), (3_000, 200, None)]
    assert reading.rows("allocations") == []
    assert reading.codes == {"no_step_marks": 1, "memory_without_address": 3, "memory_curve_added_up": 1}


def test_devices_are_added_up_apart_from_each_other(tmp_path: Path) -> None:
    bare = [
        without(memory(1_000, 10, 1, 0, device=-1, device_type=0), "Addr", *_TOTALS),
        without(memory(2_000, 5, 1, 0, device=1), "Addr", *_TOTALS),
        without(memory(3_000, -10, 1, 0, device=-1, device_type=0), "Addr", *_TOTALS),
    ]
    reading = opened(tmp_path, [*bare, memory(4_000, 64, 1, 640)])
    assert curve(reading, "cpu") == [(1_000, 10, None), (3_000, 0, None)]
    assert curve(reading, "cuda:1") == [(2_000, 5, None)]
    assert curve(reading, "cuda:0") == [(4_000, 640, 4_096)]
    assert reading.codes["memory_curve_added_up"] == 2


def test_blocks_with_addresses_need_no_added_up_curve(tmp_path: Path) -> None:
    reading = opened(tmp_path, [without(memory(1_000, 64, 1, 0), *_TOTALS)])
    assert reading.rows("memory") == []
    assert [row["bytes"] for row in reading.rows("allocations")] == [64]
    assert reading.codes == {"no_step_marks": 1}


def test_the_highest_addresses_are_addresses(tmp_path: Path) -> None:
    events = [memory(1_000, 64, -4_096, 64), memory(2_000, -64, -4_096, 0)]  # of 64 bits, as some writers print them
    (block,) = opened(tmp_path, events).rows("allocations")
    assert (block["address"], block["alloc_ns"], block["free_ns"]) == (2**64 - 4_096, 1_000, 2_000)


def on_host(time_ns: int, size: int, address: int, allocated: int) -> Event:
    event = memory(time_ns, size, address, allocated, device=-1, device_type=0)
    return event | {"args": event["args"] | {"Total Reserved": 0}}


def shared(time_ns: int, size: int, address: int) -> Event:
    """As PyTorch 2.13 writes a batch from a loader's worker: 0 allocated, and reserved itself while it lives."""
    event = on_host(time_ns, size, address, 0)
    return event | {"args": event["args"] | {"Total Reserved": max(size, 0)}}


def test_batches_in_shared_memory_are_added_to_what_the_allocator_states(tmp_path: Path) -> None:
    # The allocator holds 400 from before; 64 bytes of a batch from before are released.
    events = [
        shared(1_000, 256, 1),
        on_host(2_000, 100, 2, 500),
        shared(3_000, -256, 1),
        shared(4_000, -64, 3),
        shared(5_000, 32, 4),
        on_host(6_000, -100, 2, 400),
    ]
    reading = opened(tmp_path, events)
    # Batches alive: 64 + 256, the same, 64, 0, 32, 32.
    assert curve(reading, "cpu") == [
        (1_000, 400 + 320, None),
        (2_000, 500 + 320, None),
        (3_000, 500 + 64, None),
        (4_000, 500 + 0, None),
        (5_000, 500 + 32, None),
        (6_000, 400 + 32, None),
    ]
    assert sorted(row["bytes"] for row in reading.rows("allocations")) == [32, 64, 100, 256]


def test_an_allocator_that_holds_nothing_any_more_is_no_shared_memory(tmp_path: Path) -> None:
    reading = opened(tmp_path, [on_host(1_000, 100, 1, 100), on_host(2_000, -100, 1, 0), on_host(3_000, 8, 1, 8)])
    assert curve(reading, "cpu") == [(1_000, 100, None), (2_000, 0, None), (3_000, 8, None)]


def test_a_pool_that_holds_nothing_is_no_shared_memory(tmp_path: Path) -> None:
    reading = opened(tmp_path, [memory(1_000, -100, 1, 0), memory(2_000, 50, 1, 50)])
    assert curve(reading, "cuda:0") == [(1_000, 0, 4_096), (2_000, 50, 4_096)]
