"""Summaries, strategies, memory: reported by row and column."""

from __future__ import annotations

import json
from pathlib import Path

from readers import mindinsight_builder as made
from readers.mindinsight.read_directories import Read, read, reported


def test_summaries_are_reported_by_row_and_column(ascend: Read) -> None:
    tables, counts = ascend
    assert reported(tables, "output_op_compute_time_0.txt") == [
        (None, "Default/Cast-op6", "compute_time(ms)", 0.0031),
        (None, "Default/Cast-op6", "stream_id", 3.0),
        (None, "total op", "compute_time(ms)", 1.2531),
        (None, "total op", "stream_id", 0.0),
    ]
    assert reported(tables, "output_op_compute_time_detail_0.txt") == [
        (None, "Cast", "compute_time(ms, per-step)", 0.0031),
        (None, "Cast", "called_times(per-step)", 3.0),
        (None, "Cast", "percent", 2.0),
        (None, "Default/Cast-op6", "avg_execution_time", 0.0031),
    ]
    assert reported(tables, "aicore_intermediate_0_detail.csv") == [
        (None, "Default/Cast-op6", "execution_time", 0.0031)
    ]
    assert (None, "Cast", "total_time", 0.25) in reported(tables, "aicore_intermediate_0_type.csv")
    assert (None, "Default/Cast-op6", "GFLOPS(10^9 cube)", 12.5) in reported(tables, "flops_0.txt")
    assert reported(tables, "flops_summary_0.json") == [(None, "flops", "cube_FLOPs", 107146.763)]
    assert reported(tables, "flops_scope_0.json") == [
        (None, "Total -> Default", "value", 4655.465),
        (None, "flops_scope", "max_scope_num", 2.0),
    ]
    assert counts["flops_scope_without_link"] == 1


def test_changing_shapes_of_both_devices_are_reported_by_step(ascend: Read, tmp_path: Path) -> None:
    assert reported(ascend[0], "dynamic_shape_info_0.json") == [
        (1, "Add", "op_type", 1.5),
        (2, "Add", "op_type", 2.5),
        (1, "Add-op1 [2]", "op_exe_time", 1.0),
        (2, "Add-op1 [4]", "op_exe_time", 2.0),
    ]
    tables, _ = read(made.write(tmp_path / "gpu" / "profiler", made.gpu_contents()), tmp_path / "gpu_out")
    rows = reported(tables, "dynamic_shape_info_0.json")
    assert (1, "Add-op6 [32, 1] [32]", "operator.dur", 75.616) in rows and (2, "Add-op6", "operator.dur", 48.64) in rows
    assert (1, "AddKernel", "kernel.block_dim.x", 256.0) in rows and (1, "Add", "operator_type.count", 1.0) in rows
    assert len(rows) == 2 + 1 + 6 + 3 + 3


def test_strategies_and_their_groups(ascend: Read) -> None:
    tables, _ = ascend
    assert tables["groups"].select("group", "ranks", "confidence").rows() == [
        ("stage 0", [0, 1], "stated"),
        ("stage 1", [2, 3], "stated"),
        ("2-7834", [2, 3], "stated"),
    ]
    rows = reported(tables, "parallel_strategy_0.json")
    assert (None, "Default/AllReduce-op2", "in_strategy.0.0", 2.0) in rows
    assert (None, "Default/AllReduce-op2", "in_strategy.1.0", 1.0) in rows
    assert (None, "Default/AllReduce-op2", "redistribution", 1.0) in rows
    assert (None, "Default/GetNext-op1", "inputs", 0.0) in rows
    assert tables["ranks"]["pp"].item() == 1


def test_memory_planned_and_measured(ascend: Read) -> None:
    tables, _ = ascend
    columns = ("device", "bytes", "alloc_ns", "free_ns", "operator")
    assert tables["allocations"].select(*columns).rows() == [
        ("npu:0", 2048, 1_000_500, 1_010_500, "Default/Add-op1"),
        ("npu:0", 1024, 1_001_000, None, "Default/Add-op2"),
    ]
    mib = 1 << 20
    assert tables["memory"].select("time_ns", "allocated", "reserved").rows() == [
        (1_000_500, 3 * mib, 8 * mib),
        (1_001_000, 4 * mib, 8 * mib),
        (1_010_500, 1 * mib, 8 * mib),
    ]
    assert reported(tables, "memory_usage_details_0.json") == [
        (None, "graph 0", "static_mem", 0.5),
        (None, "graph 0", "fp_start", 2.0),
        (None, "graph 0 position 0", "occupied", 0.5),
        (None, "graph 0 position 1", "occupied", 0.75),
        (None, "Default/a", "node_id", 0.0),
        (None, "Default/a", "size", 0.25),
        (None, "Default/a", "allocated", 0.25),
        (None, "a:0", "size", 0.25),
        (None, "a:0", "life_start", 0.0),
        (None, "a:0", "life_end", 1.0),
    ]
    assert tables["ranks"]["memory_capacity"].item() == 63 << 29  # 31.5 GiB


def test_who_recorded_it(ascend: Read) -> None:
    row = ascend[0]["ranks"].row(0, named=True)
    assert (row["world_size"], row["device_kind"], row["framework"], row["device_index"]) == (4, "npu", "mindspore", 0)
    assert json.loads(row["versions"]) == {"ms_version": "2.0.0"}
    assert json.loads(row["switches"])["parallel_mode"] == "pipeline-parallel"
    assert (row["first_ns"], row["last_ns"]) == (500, 15_375_000)


def test_slices_of_a_row_never_overlap_and_ids_are_unique(ascend: Read) -> None:
    slices = ascend[0]["slices"]
    assert slices["slice"].n_unique() == slices.height
    for _, lane in slices.group_by("track", "row"):
        ordered = lane.sort("start_ns")
        ends = (ordered["start_ns"] + ordered["dur_ns"]).to_list()
        assert all(end <= start for end, start in zip(ends, ordered["start_ns"].to_list()[1:], strict=False))


def test_reading_again_gives_the_same_tables(ascend: Read, tmp_path: Path) -> None:
    again, _ = read(tmp_path / "profiler", tmp_path / "again")
    assert ascend[0].keys() == again.keys()
    assert all(ascend[0][table].equals(again[table]) for table in again)
