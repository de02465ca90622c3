"""What a trace says of itself: layouts, times, the rank, its device, its tracks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from readers.kineto.opened_traces import Opened
from support.traces import (
    LAYOUTS,
    document,
    kernel,
    named,
    operator,
    training_steps,
)


def test_all_layouts_give_the_same_tables(opened: Opened) -> None:
    whole = document(training_steps(), baseTimeNanoseconds=7_000_000_000)
    first, *others = [opened(layout(whole)) for layout in LAYOUTS.values()]
    assert first.codes == {}
    assert {"slices", "links", "steps", "details", "memory", "allocations", "tracks", "ranks"} <= first.tables.keys()
    for other in others:
        assert first.tables.keys() == other.tables.keys()
        for table, frame in first.tables.items():
            if table != "details":  # these keep the spaces of the file
                assert frame.equals(other.tables[table]), table
        texts = [[(row["slice"], json.loads(row["json"])) for row in each.rows("details")] for each in (first, other)]
        assert texts[0] == texts[1]


def test_times_are_absolute_where_the_file_tells_their_base(opened: Opened) -> None:
    base = 1_790_857_026_000_000_000
    reading = opened([operator("a", 3_856_954_136_243_253, 31_326)], baseTimeNanoseconds=base)
    row = reading.named("a")
    assert (row["start_ns"], row["dur_ns"]) == (base + 3_856_954_136_243_253, 31_326)
    (rank,) = reading.rows("ranks")
    assert rank["clock_base_ns"] == base
    assert (rank["first_ns"], rank["last_ns"]) == (row["start_ns"], row["start_ns"] + 31_326)


def test_the_display_unit_does_not_change_the_unit_of_times(opened: Opened) -> None:
    for unit in ("ms", "ns"):
        assert opened([operator("a", 5_000, 1_500)], displayTimeUnit=unit).named("a")["dur_ns"] == 1_500


def test_times_of_an_old_trace_are_whole_epoch_microseconds(opened: Opened) -> None:
    event = {"ph": "X", "cat": "Operator", "name": "a", "pid": 1, "tid": "1", "ts": 1_736_405_443_871_466, "dur": 12}
    row = opened([event]).named("a")
    assert (row["start_ns"], row["dur_ns"], row["kind"]) == (1_736_405_443_871_466_000, 12_000, "operator")


def test_metadata_behind_the_events_is_used(opened: Opened) -> None:
    behind = {
        "traceEvents": [operator("a", 1_000, 10)],
        "baseTimeNanoseconds": 500,
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4},
        "host_name": "node7",
    }
    reading = opened(behind)
    (rank,) = reading.rows("ranks")
    assert (rank["rank"], rank["world_size"], rank["host"], rank["clock_base_ns"]) == (3, 4, "node7", 500)
    assert reading.named("a")["start_ns"] == 1_500


@pytest.mark.parametrize(
    ("info", "rank", "world"),
    [
        ({"rank": 5}, 5, None),
        ({"backend": "nccl", "rank": 2, "world_size": 8, "pg_count": 0, "pg_config": []}, 2, 8),
        ({"backend": "nccl", "pg_config": [{"pg_name": "0", "ranks": [0, 1]}], "rank": 1, "world_size": 2}, 1, 2),
        ({"rank": "3", "world_size": "4"}, 3, 4),
        ({}, 0, None),
        ("none", 0, None),
    ],
)
def test_who_a_rank_is_stands_in_its_distributed_info(info: Any, rank: int, world: int | None, opened: Opened) -> None:
    (row,) = opened([operator("a", 1_000, 10)], distributedInfo=info).rows("ranks")
    assert (row["rank"], row["world_size"]) == (rank, world)


def test_the_device_in_use_is_described(opened: Opened) -> None:
    devices = [{"id": number, "name": f"GPU {number}", "totalGlobalMem": 80 << 30, "numSms": 108} for number in (0, 1)]
    event = kernel("k", 1_000, 5, 1) | {"pid": 1}
    (rank,) = opened([event], deviceProperties=devices, with_stack=1, cuda_driver_version=12040).rows("ranks")
    found = (rank["device_name"], rank["device_index"], rank["memory_capacity"], rank["compute_units"])
    assert found == ("GPU 1", 1, 80 << 30, 108)
    assert json.loads(rank["switches"]) == {"with_stack": True}
    assert json.loads(rank["versions"]) == {"cuda_driver_version": 12040}
    (rank,) = opened([operator("a", 1_000, 5)], deviceProperties=devices).rows("ranks")
    assert (rank["device_kind"], rank["device_name"]) == ("cpu", None)


def test_warnings_of_the_profiler_become_notes(opened: Opened) -> None:
    reading = opened([operator("a", 1, 1)], WARNING=["records out of range"], ERROR=["stopped early"], INFO=["fine"])
    lines = {note.params["line"] for note in reading.notes if note.code == "profiler_log"}
    assert lines == {"records out of range", "stopped early"}


# tracks
def test_tracks_have_the_names_and_the_order_of_the_metadata_events(opened: Opened) -> None:
    events = [
        operator("a", 1_000, 10, tid=5),
        operator("b", 1_000, 10, tid=4),
        kernel("k", 1_000, 10, 1),
        *[named("process_name", "python", pid=100), named("process_labels", "CPU", pid=100)] * 50,
        named("process_name", "python", pid=0),
        named("process_labels", "GPU 0", pid=0),
        named("process_sort_index", 5_000_000, pid=0),
        named("process_sort_index", 100, pid=100),
        named("thread_name", "thread 5 (main)", pid=100, tid=5),
        named("thread_sort_index", 2, pid=100, tid=4),
        named("thread_sort_index", 1, pid=100, tid=5),
        named("thread_name", "stream 7 ", pid=0, tid=7),
        named("thread_name", "stream 9 ", pid=3, tid=9),  # announced, but nothing ran there
    ]
    rows = sorted(opened(events).rows("tracks"), key=lambda row: row["order"])
    assert [(row["process"], row["name"].strip(), row["kind"]) for row in rows] == [
        ("python CPU", "thread 5 (main)", "host"),
        ("python CPU", "thread 4", "host"),
        ("python GPU 0", "stream 7", "stream"),
    ]


def test_a_stream_and_a_thread_with_the_same_number_are_two_tracks(opened: Opened) -> None:
    reading = opened([kernel("k", 1_000, 10, 1, stream=1), operator("a", 1_000, 10)])
    assert reading.named("k")["track"] != reading.named("a")["track"]
