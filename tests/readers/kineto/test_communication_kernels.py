"""Collectives: groups, sizes and sequences, on the device and on the host."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from readers.kineto.opened_traces import Opened, communication
from support.traces import (
    annotation,
    call,
    complete,
    document,
    kernel,
    operator,
    write,
)


def test_a_collective_kernel_carries_its_group_size_and_sequence(opened: Opened) -> None:
    events = [
        annotation("ProfilerStep#2", 1_000, 1_000),
        call("cudaLaunchKernel", 1_500, 10, 1),
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5_000, 70, 1, stream=20, **communication("allreduce")),
        kernel("ncclDevKernel_AllGather", 6_000, 70, 2, stream=20, **communication("_allgather_base", Seq=13)),
        kernel("ncclDevKernel_SendRecv", 7_000, 70, 3, stream=20, **communication("send", **{"Dst Rank": 1})),
        kernel("ncclDevKernel_SendRecv", 8_000, 70, 4, stream=20, **communication("recv", **{"Src Rank": 2})),
        kernel("my_own_reduction", 9_000, 70, 5, stream=20, **communication("reduce_scatter", dtype="Float8_new")),
        kernel("ncclKernel_AllReduce_TREE_LL_Sum_float", 9_500, 10, 6, stream=20),
        kernel("gemm", 9_600, 10, 7),
    ]
    reading = opened(events)
    keys = ("slice", "kind", "group", "seq", "bytes", "dtype", "peer", "step", "start_ns", "end_ns", "stream")
    found = [
        tuple(row[key] for key in keys) for row in sorted(reading.rows("collectives"), key=lambda row: row["slice"])
    ]
    assert found == [
        (2, "all_reduce", "3", 12, 200, "BFloat16", None, 2, 5_000, 5_070, 20),
        (3, "all_gather", "3", 13, 800, "BFloat16", None, 2, 6_000, 6_070, 20),
        (4, "send", "3", 12, 200, "BFloat16", 1, 2, 7_000, 7_070, 20),
        (5, "receive", "3", 12, 200, "BFloat16", 2, 2, 8_000, 8_070, 20),
        (6, "reduce_scatter", "3", 12, None, "Float8_new", None, 2, 9_000, 9_070, 20),
        (7, "all_reduce", None, None, None, None, None, 2, 9_500, 9_510, 20),
    ]
    assert {row["name"]: row["kind"] for row in reading.rows("slices")}["gemm"] == "kernel"


def test_a_kernel_takes_what_it_does_not_say_from_the_operator_that_enqueued_it(opened: Opened) -> None:
    events = [
        operator("record_param_comms", 1_000, 100, **{"External id": 5}, **communication("allreduce")),
        call("cudaLaunchKernel", 1_010, 10, 1, **{"External id": 5}),
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5_000, 70, 1, **{"External id": 5}),
    ]
    (row,) = opened(events).rows("collectives")
    assert (row["slice"], row["kind"], row["group"], row["bytes"]) == (2, "all_reduce", "3", 200)


def test_host_collectives_are_annotations_of_cpu_backends_only(opened: Opened) -> None:
    events = [
        annotation("gloo:all_reduce", 1_000, 500),
        annotation("nccl:all_reduce", 2_000, 500),  # only the enqueueing
        complete("gpu_user_annotation", "gloo:all_reduce", 3_000, 10, pid=0, tid=7),
    ]
    reading = opened(events)
    found = [
        (row["slice"], row["kind"], row["start_ns"], row["end_ns"], row["stream"])
        for row in reading.rows("collectives")
    ]
    assert found == [(0, "all_reduce", 1_000, 1_500, None)]
    assert [row["kind"] for row in sorted(reading.rows("slices"), key=lambda row: row["slice"])] == [
        "collective",
        "annotation",
        "annotation",
    ]


def test_groups_are_stated_as_lists_or_as_texts(tmp_path: Path) -> None:
    config = [
        {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [1, 0]},
        {"pg_name": "1", "pg_desc": "tp", "pg_size": 2, "ranks": "[0, 1]"},
        {"pg_name": 2, "pg_size": 512, "ranks": "[0, 1, 2, ...]"},
    ]
    events = [
        kernel("ncclDevKernel_AllReduce", 1_000, 5, 1, **communication("allreduce")),
        kernel("ncclDevKernel_AllReduce", 2_000, 5, 2, **communication("allreduce", **{"Process Group Name": "1"})),
    ]
    path = write(tmp_path / "t.json", document(events, distributedInfo={"rank": 0, "pg_config": config}))
    rows = stepscope.load(path, progress=False).table("groups").collect().to_dicts()
    found = {row["group"]: (row["name"], row["ranks"], row["origin"]) for row in rows}
    assert found == {
        "0": ("default_pg", [1, 0], "distributedInfo"),
        "1": ("tp", [0, 1], "distributedInfo"),
        "2": (None, None, "distributedInfo"),
        "3": ("default_pg", [0, 1, 2, 3], "calls"),
    }


@pytest.mark.parametrize(
    ("second", "expected"), [([0, 1], 2 * 50 * 4), ([1, 0], 2 * 50 * 4), ([0], None), (None, None)]
)
def test_what_a_gathering_that_names_no_group_brings_is_known_where_all_groups_have_the_same_members(
    opened: Opened, second: list[int] | None, expected: int | None
) -> None:
    """gloo names no group. What comes out are 50 floats from each member."""
    groups = [{"pg_name": "0", "pg_size": 2, "ranks": [0, 1]}, {"pg_name": "1", "pg_size": 2, "ranks": second}]
    events = [annotation("gloo:all_gather", 1_000, 500, **{"Input Dims": [[50]], "Input type": ["float"]})]
    reading = opened(events, distributedInfo={"rank": 0, "world_size": 2, "pg_config": groups})
    (row,) = reading.rows("collectives")
    assert (row["kind"], row["group"], row["bytes"]) == ("all_gather", None, expected)
