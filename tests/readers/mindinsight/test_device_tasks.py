"""Device tasks and the vendor's timeline: exact times, each task counted once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import polars as pl

from readers.mindinsight.read_directories import Read, read_files, reported


def test_operators_have_exact_times_and_what_the_framework_knows(ascend: Read) -> None:
    kernels = ascend[0]["slices"].filter(pl.col("core") == "AI_CORE").sort("start_ns")
    assert kernels.select("name", "start_ns", "dur_ns", "step", "type", "phase", "module").rows() == [
        ("Default/Cast-op6", 10_500_000, 3100, 1, "Cast", "forward", "Default"),
        ("Gradients/Default/MatMul-op8", 11_250_000, 1_000_000, 1, "MatMul", "backward", "Gradients/Default"),
        ("Default/Cast-op6", 15_125_000, 250_000, 2, "Cast", "forward", "Default"),
    ]
    cast = kernels.row(0, named=True)
    assert (cast["input_shapes"], cast["output_shapes"], cast["dtypes"], cast["formats"]) == (
        "32,3",
        "32,3",
        "FLOAT32",
        "NCHW;NC1HWC0",
    )
    detail = ascend[0]["details"].filter(pl.col("slice") == cast["slice"])["json"].item()
    assert json.loads(detail)["block_dim"] == "32"


def test_a_task_that_two_files_show_counts_once(ascend: Read) -> None:
    tables, counts = ascend
    assert counts["hwts_tasks_of_operators"] == 3
    assert (counts["hwts_start_without_end"], counts["hwts_end_without_start"]) == (1, 1)
    scheduling = tables["slices"].filter(pl.col("kind") == "sync")
    assert scheduling.select("name", "stream", "start_ns", "dur_ns").rows() == [("task 7_1", 7, 11_251_000, 10)]
    assert counts["hwts_tasks_without_operator"] == 1
    assert counts["operator_facts_unused"] == 1


def test_the_log_and_the_framework_together_give_operators(tmp_path: Path) -> None:
    tables, _ = read_files(tmp_path, "output_format_data_hwts_0.txt", "framework_raw_0.csv")
    kernels = tables["slices"].filter(pl.col("kind") == "kernel").sort("start_ns")
    assert kernels.select("name", "start_ns", "dur_ns").rows() == [
        ("Default/Cast-op6", 10_500_000, 3100),
        ("Gradients/Default/MatMul-op8", 11_250_000, 1_000_000),
        ("Default/Cast-op6", 15_125_000, 250_000),
    ]


def test_the_heading_says_the_unit(tmp_path: Path) -> None:
    text = "op_name, stream_id, start_time(us), duration(us)\nDefault/Cast-op6,3,10500.25,3.1\n"
    tables, _ = read_files(tmp_path, "output_timeline_data_0.txt", output=text)
    assert tables["slices"].select("start_ns", "dur_ns", "type").rows() == [(10_500_250, 3100, "Cast")]


def test_ai_cpu_kernels_are_on_the_same_clock_and_count_once(ascend: Read) -> None:
    tables, counts = ascend
    kernels = tables["slices"].filter(pl.col("core") == "AI_CPU").sort("start_ns")
    assert kernels.select("name", "start_ns", "dur_ns", "kind", "phase").rows() == [
        ("InitData", 9_000_000, 160_000, "kernel", "data"),
        ("GetNext", 14_100_000, 518_000, "kernel", "data"),
    ]
    assert counts["aicpu_list_repeats"] == 2
    assert reported(tables, "output_data_preprocess_aicpu_0.txt") == [(None, "AI CPU", "Total Time(ms)", 8.794)]


def test_the_old_ai_cpu_list_serves_alone(tmp_path: Path) -> None:
    tables, counts = read_files(tmp_path, "output_data_preprocess_aicpu_0.txt")
    assert tables["slices"]["dur_ns"].to_list() == [160_000, 518_000]
    assert "mindspore_rows_dropped" not in counts


def test_events_of_the_timeline_that_other_files_hold_are_copies(ascend: Read) -> None:
    tables, counts = ascend
    assert counts["timeline_copies"] == 7  # 3 operators, 2 AI CPU kernels, a host operator, a communication call
    assert "timeline_relative_clock" not in counts
    tracks = dict(tables["tracks"].select("track", "name").rows())
    vendor = tables["slices"].filter(pl.col("kind").is_in(["reported", "step"]))
    placed = {(tracks[row["track"]], row["start_ns"], row["dur_ns"]) for row in vendor.iter_rows(named=True)}
    # The file's times are relative to InitData at 9 ms.
    assert placed == {
        ("Steps", 10_000_000, 4_000_000),
        ("Scope Name", 10_500_000, 3100),
        ("Communication Op 5", 11_000_000, 50_000),
        ("Free Time", 10_503_100, 700_000),
    }


def test_a_timeline_alone_gives_slices_but_no_common_clock(tmp_path: Path) -> None:
    tables, counts = read_files(tmp_path, "ascend_timeline_display_0.json")
    kinds = Counter(tables["slices"]["kind"].to_list())
    assert kinds == {"kernel": 5, "step": 1, "reported": 2, "collective": 1, "operator": 1}
    assert counts["timeline_relative_clock"] == 10
    assert tables["collectives"].select("name", "kind", "stream").rows() == [("AllReduce-op1", "all_reduce", 5)]


def test_the_timeline_finds_its_clock_by_the_steps(tmp_path: Path) -> None:
    tables, counts = read_files(tmp_path, "ascend_timeline_display_0.json", "step_trace_raw_0_detail_time.csv")
    assert "timeline_relative_clock" not in counts
    cast = tables["slices"].filter(pl.col("name") == "Cast-op6").sort("start_ns")
    assert cast.select("start_ns", "step").rows() == [(10_500_000, 1), (15_125_000, 2)]


def test_a_gpus_timeline_has_operators_and_kernels(tmp_path: Path) -> None:
    tables, _ = read_files(tmp_path, "gpu_timeline_display_0.json")
    assert tables["slices"].sort("start_ns").select(
        "name", "kind", "core", "start_ns", "dur_ns", "stream", "phase"
    ).rows() == [
        ("Default/Add-op0", "operator", None, 1600695893269618200, 303_840, None, "forward"),
        ("void Add<float>(int)", "kernel", "GPU", 1600695893269700800, 5792, 17, "optimizer"),
    ]
    assert tables["ranks"]["device_kind"].item() == "gpu"
