"""MindInsight profiler directories: a hand-made one with every kind of file, and pieces of real ones."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readers import mindinsight_builder as made
from stepscope.readers import mindinsight
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mindinsight"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared captures")

Tables = dict[str, pl.DataFrame]
Read = tuple[Tables, dict[str, int]]


def claim(directory: Path) -> list[Source]:
    entries = sorted(directory.iterdir())
    folders = [entry.name for entry in entries if entry.is_dir()]
    return mindinsight.claim(directory, folders, [entry.name for entry in entries if entry.is_file()]) or []


def read_source(source: Source, out: Path) -> Read:
    out.mkdir(parents=True, exist_ok=True)
    writer, notes = RankWriter(out, source.rank or 0), Notes()
    mindinsight.read(Reading(source, writer, notes))
    tables = {
        table: pl.concat([pl.read_parquet(out / name) for name in files]) for table, files in writer.close().items()
    }
    counts: dict[str, int] = {}
    for note in notes.all():
        assert note.sentence("en") and note.sentence("zh")
        counts[note.code] = counts.get(note.code, 0) + note.count
    return tables, counts


def read(directory: Path, out: Path) -> Read:
    (source,) = claim(directory)
    return read_source(source, out)


def read_files(tmp_path: Path, *names: str, **contents: str) -> Read:
    """Read some of the made files; ``contents`` replaces the text of those whose name begins so."""
    known = made.gpu_contents() | made.contents()
    chosen = {name: known[name] for name in names}
    for name in chosen:
        for start, content in contents.items():
            if name.startswith(start):
                chosen[name] = content
    return read(made.write(tmp_path / "profiler", chosen), tmp_path / "out")


def reported(tables: Tables, file: str) -> list[tuple[Any, ...]]:
    return tables["reported"].filter(pl.col("file") == file).select("step", "key", "metric", "value").rows()


@pytest.fixture
def ascend(tmp_path: Path) -> Read:
    return read(made.write(tmp_path / "profiler", made.contents()), tmp_path / "out")


@pytest.fixture
def gpu(tmp_path: Path) -> Read:
    return read(made.write(tmp_path / "profiler", made.gpu_contents()), tmp_path / "out")


# --- steps --------------------------------------------------------------------------------------------


def test_steps_are_counts_of_ten_nanoseconds(ascend: Read) -> None:
    columns = ("step", "host_start_ns", "host_end_ns", "device_start_ns", "device_end_ns", "forward_start_ns")
    assert ascend[0]["steps"].select(*columns, "backward_end_ns", "incomplete").rows() == [
        (1, 10_000_000, 14_000_000, 10_000_000, 14_000_000, 10_000_000, 13_000_000, True),
        (2, 14_000_000, 19_000_000, 14_500_000, 19_000_000, 14_500_000, 18_000_000, False),
    ]
    assert set(ascend[0]["steps"].select("first_operator", "last_operator", "marks_from").rows()) == {
        ("Default/Cast-op6", "Default/TransData-op7", "step_trace")
    }


def test_parts_of_steps_and_their_average_are_reported(ascend: Read) -> None:
    rows = reported(ascend[0], "step_trace_raw_0_detail_time.csv")
    assert (2, "2", "iteration_interval", 50000.0) in rows and (1, "1", "tail", 100000.0) in rows
    average = [row for row in rows if row[1] == "average"]
    assert len(average) == 14 and (None, "average", "total", 450000.0) in average
    assert len(rows) == 14 + 2 * 4


def test_communication_calls_of_the_step_trace_are_slices(ascend: Read) -> None:
    tables, counts = ascend
    calls = tables["slices"].filter(pl.col("kind") == "collective").sort("start_ns")
    assert calls.select("name", "type", "stream", "start_ns", "dur_ns", "step").rows() == [
        ("AllReduce-op1", "all_reduce", 5, 11_000_000, 50_000, 1),
        ("Receive-op2", "receive", 6, 12_000_000, 100_000, 1),
        ("AllReduce-op1", "all_reduce", 5, 15_000_000, 60_000, 2),
    ]
    assert counts["step_trace_call_absent"] == 1  # the Receive of step 2 is all zeros


def test_calls_carry_what_the_communication_file_says_of_them(ascend: Read) -> None:
    columns = ("name", "kind", "group", "step", "transit_ns", "wait_ns")
    assert ascend[0]["collectives"].sort("start_ns").select(*columns).rows() == [
        ("AllReduce-op1", "all_reduce", "stage 0", 1, 750_000, 2_250_000),
        ("Receive-op2", "receive", None, 1, 125_000, 1_500_000),
        ("AllReduce-op1", "all_reduce", "stage 0", 2, None, None),
    ]


def test_inference_has_a_forward_pass_only(tmp_path: Path) -> None:
    text = (
        "step_num,start_point,end_point,total,fp_point,iteration_interval,fp\n1,100,200,100,150,50,50\n-,1,2,1,1,1,1\n"
    )
    tables, _ = read_files(tmp_path, "step_trace_raw_0_detail_time.csv", step_trace=text)
    assert tables["steps"].select("forward_start_ns", "backward_end_ns", "incomplete").rows() == [(1500, None, False)]
    assert (1, "1", "fp", 50.0) in reported(tables, "step_trace_raw_0_detail_time.csv")


def test_the_old_average_row_of_step_zero_is_no_step(tmp_path: Path) -> None:
    text = made.STEP_TRACE.replace("-,1200000,1650000,450000", "0,0,0,0")
    tables, _ = read_files(tmp_path, "step_trace_raw_0_detail_time.csv", step_trace=text)
    assert tables["steps"]["step"].to_list() == [1, 2]


def test_a_duration_that_its_ends_deny_is_noted(tmp_path: Path) -> None:
    text = made.STEP_TRACE.replace(",6000,1500000", ",6001,1500000")
    tables, counts = read_files(tmp_path, "step_trace_raw_0_detail_time.csv", step_trace=text)
    assert counts["step_trace_duration_differs"] == 1
    assert sorted(tables["slices"]["dur_ns"].to_list()) == [50_000, 60_000, 100_000]


def test_steps_of_a_gpu_come_from_its_raw_file(gpu: Read) -> None:
    tables, counts = gpu
    base = 1600695893269618000
    assert tables["steps"].select(
        "step", "host_start_ns", "forward_start_ns", "backward_end_ns", "host_end_ns"
    ).rows() == [
        (1, base, base + 500, base + 3000, base + 4000),
        (2, base + 4000, base + 4500, base + 7000, base + 8000),
    ]
    # The kernels of NCCL are the communication; the operators around them do not count again.
    assert counts["step_trace_calls_repeated"] == 2
    assert tables["slices"].filter(pl.col("kind") == "collective")["name"].to_list() == ["ncclKernel_AllReduce"]
    assert tables["slices"].filter(pl.col("kind") == "reported")["dur_ns"].to_list() == [100, 100]


def test_the_other_form_of_the_gpus_raw_file_counts_ten_nanoseconds(tmp_path: Path) -> None:
    tables, _ = read_files(tmp_path, "step_trace_profiling_0.txt", step_trace=made.GPU_STEPS)
    assert tables["steps"].select("host_start_ns", "forward_start_ns", "backward_end_ns", "host_end_ns").rows() == [
        (1000, 1000, 4000, 4500),
        (4500, 5000, 8000, 8500),
    ]
    assert tables["collectives"].select("name", "start_ns", "end_ns").rows() == [
        ("AllReduce-op3", 4100, 4300),
        ("AllReduce-op3", 8100, 8350),
    ]


def test_steps_of_the_timeline_serve_where_there_is_no_step_trace(tmp_path: Path) -> None:
    tables, _ = read_files(tmp_path, "ascend_timeline_display_0.json")
    assert tables["steps"].select("step", "host_start_ns", "host_end_ns").rows() == [(1, 1_000_000, 5_000_000)]


# --- device tasks -------------------------------------------------------------------------------------


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


# --- the vendor's timeline ----------------------------------------------------------------------------


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


# --- GPU and host -------------------------------------------------------------------------------------


def test_gpu_operators_and_kernels_with_exact_times(gpu: Read) -> None:
    tables, counts = gpu
    assert counts["timeline_copies"] == 2
    kernel = tables["slices"].filter(pl.col("kind") == "kernel").row(0, named=True)
    assert (kernel["name"], kernel["start_ns"], kernel["dur_ns"], kernel["stream"], kernel["operator"]) == (
        "void Add<float>(int, float)",
        1600695893269700800,
        5792,
        17,
        "Default/Add-op0",
    )
    operators = tables["slices"].filter((pl.col("kind") == "operator") & pl.col("core").is_null()).sort("start_ns")
    assert operators.select("start_ns", "dur_ns", "type", "input_shapes").rows() == [
        (1600695893269618200, 303_840, "Add", "[[2, 3]]"),
        (1600695893270000000, 1500, "Add", "[[2, 3]]"),
    ]
    assert (None, "void Add<float>(int, float)", "total_duration(us)", 5.792) in reported(
        tables, "gpu_activity_data_0.csv"
    )


def test_host_operators_are_brought_onto_the_gpus_clock(gpu: Read) -> None:
    host = gpu[0]["slices"].filter(pl.col("core") == "HOST_CPU").sort("start_ns")
    # 500 ns less the host's 400 plus the GPU's start.
    assert host.select("start_ns", "dur_ns").rows() == [(1600695893269000100, 1000), (1600695893269000500, 2000)]


# --- communication ------------------------------------------------------------------------------------


def test_links_become_transfers_with_exact_sizes_and_times(ascend: Read) -> None:
    tables, counts = ascend
    columns = ("kind", "peer", "transport", "call", "step", "bytes", "time_ns")
    assert tables["transfers"].select(*columns).rows() == [
        ("wait", None, None, "stream_5_0_AllReduce-op1", 1, None, 2_250_000),
        ("payload", 1, "SDMA", "stream_5_0_AllReduce-op1", 1, 100_000, 500_000),
        ("payload", 0, "SDMA", "stream_5_0_AllReduce-op1", 1, 4096, 250_000),
        ("wait", None, None, "stream_6_0_Receive-op2", 1, None, 1_500_000),
        ("payload", None, "RDMA", "stream_6_0_Receive-op2", 1, 8000, 125_000),
        ("wait", None, "RDMA", "stream_6_0_Receive-op2", 1, None, 62_500),
    ]
    assert (counts["link_ranks_inferred"], counts["link_end_unknown"]) == (2, 1)
    assert "link_bandwidth_differs" not in counts


def test_sums_and_the_average_of_communication_are_reported(ascend: Read) -> None:
    rows = reported(ascend[0], "hccl_raw_0.csv")
    assert (1, "all calls", "wait_cost", 3.75) in rows
    assert (1, "1-0 SDMA", "band_width(KB/s)", 200000.0) in rows
    assert (None, "average stream_6_0_Receive-op2 1-0 RDMA", "wait(ms)", 0.0625) in rows
    # Per step 2 sums and 6 numbers of links; the average has as many, and 4 sums and 10 numbers of its calls.
    assert len(rows) == 8 + 8 + 14


def test_links_of_the_second_stage_lead_to_its_own_ranks(tmp_path: Path) -> None:
    names = {name: text for name, text in made.contents(2).items() if name.startswith(("hccl", "ascend_cluster"))}
    tables, _ = read(made.write(tmp_path / "profiler", names), tmp_path / "out")
    peers = tables["transfers"].filter(pl.col("kind") == "payload")["peer"].to_list()
    assert peers == [3, 2, None]
    assert tables["ranks"].select("world_size", "pp").rows() == [(4, 1)]


def test_without_stages_the_numbers_of_a_link_are_ranks(tmp_path: Path) -> None:
    tables, counts = read_files(tmp_path, "hccl_raw_0.csv")
    assert tables["transfers"].filter(pl.col("kind") == "payload")["peer"].to_list() == [1, 0, 1]
    assert "link_ranks_inferred" not in counts


def test_a_bandwidth_that_size_and_time_deny_is_noted(tmp_path: Path) -> None:
    text = made.hccl_raw().replace("200000.0", "217000.0")
    assert read_files(tmp_path, "hccl_raw_0.csv", hccl=text)[1]["link_bandwidth_differs"] == 1


def test_cluster_rows_are_steps_and_their_average(ascend: Read) -> None:
    rows = reported(ascend[0], "ascend_cluster_analyse_pipeline-parallel_2_4_0.csv")
    assert [row[:2] for row in rows if row[2] == "computation_time"] == [(1, "1"), (2, "2"), (None, "average")]
    assert len(rows) == 15


# --- summaries ----------------------------------------------------------------------------------------


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


# --- claiming -----------------------------------------------------------------------------------------


def test_each_rank_of_a_directory_is_a_source_of_its_own(tmp_path: Path) -> None:
    directory = made.write(tmp_path / "profiler", made.contents(0) | made.contents(2) | made.contents(10))
    sources = claim(directory)
    assert [(source.rank, source.world_size) for source in sources] == [(0, 4), (2, 4), (10, 4)]
    for source in sources:
        names = {file.name for file in source.files}
        assert names == set(made.contents(source.rank or 0))  # the unnumbered file of marks belongs to all


def test_directories_of_other_formats_are_not_claimed(tmp_path: Path) -> None:
    assert mindinsight.claim(tmp_path, [], ["profiler_info_0.json", "trace_view.json"]) is None
    assert mindinsight.claim(tmp_path, [], ["pipeline_profiling_0.json"]) is None
    assert mindinsight.claim(tmp_path, ["FRAMEWORK"], ["step_trace_raw_0_detail_time.csv"]) is None
    assert mindinsight.claim(tmp_path, ["profiler"], ["summary.json"]) is None


def test_a_single_file_can_be_named(tmp_path: Path) -> None:
    directory = made.write(tmp_path, {"step_trace_raw_7_detail_time.csv": made.STEP_TRACE})
    source = mindinsight.claim_file(directory / "step_trace_raw_7_detail_time.csv", b"step_num")
    assert source is not None and source.rank == 7
    assert read_source(source, tmp_path / "out")[0]["steps"].height == 2
    assert mindinsight.claim_file(directory / "other.csv", b"step_num") is None


def test_unknown_files_and_raw_captures_beside_are_named(tmp_path: Path) -> None:
    directory = made.write(tmp_path / "profiler", made.contents() | {"strange_0.bin": "x"})
    (directory / "PROF_000001_20230818142704322_ABC").mkdir()
    _, counts = read(directory, tmp_path / "out")
    assert (counts["mindinsight_files_not_read"], counts["raw_capture_not_read"]) == (1, 1)


def test_the_cluster_layout_of_release_1_3_takes_ranks_from_the_rank_table(tmp_path: Path) -> None:
    for host in ("1", "2"):
        files = {
            name: text for device in (0, 1) for name, text in made.contents(device).items() if "step_trace_raw" in name
        }
        made.write(tmp_path / "cluster_profiler" / host / "profiler", files)
    servers = [
        {
            "server_id": f"10.0.0.{host}",
            "device": [{"device_id": str(card), "rank_id": str(rank)} for card, rank in cards],
        }
        for host, cards in ((1, ((0, 2), (1, 3))), (2, ((0, 0), (1, 1))))
    ]
    (tmp_path / "hccl.json").write_text(json.dumps({"server_list": servers}))
    (tmp_path / "host_ips_mapping.txt").write_text("10.0.0.1 1\n10.0.0.2 2\n")
    sources = claim(tmp_path)
    assert sorted((source.rank or 0, source.path.parent.name, source.world_size) for source in sources) == [
        (0, "2", 4),
        (1, "2", 4),
        (2, "1", 4),
        (3, "1", 4),
    ]
    last = next(source for source in sources if source.rank == 3)
    row = read_source(last, tmp_path / "out")[0]["ranks"].row(0, named=True)
    assert (row["rank"], row["host"], row["device_index"]) == (3, "1", 1)
    (tmp_path / "hccl.json").unlink()
    assert sorted(source.rank or 0 for source in claim(tmp_path)) == [0, 1, 2, 3]


# --- hostile input ------------------------------------------------------------------------------------


def content_of(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(directory.iterdir())}


def test_files_cut_at_any_byte_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    for place in range(20):
        files = {
            name: text[: len(text) * place // 20] for name, text in (made.gpu_contents() | made.contents()).items()
        }
        directory = made.write(tmp_path / str(place) / "profiler", files)
        before = content_of(directory)
        tables, _ = read(directory, tmp_path / str(place) / "out")
        assert tables["ranks"].height == 1
        assert content_of(directory) == before


@pytest.mark.parametrize("seed", range(40))
def test_mutated_files_never_raise(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    directory = made.write(tmp_path / "profiler", made.gpu_contents() | made.contents())
    for file in sorted(directory.iterdir()):
        content = bytearray(file.read_bytes())
        for _ in range(dice.randrange(1, 15)):
            place = dice.randrange(len(content) + 1)
            content[place : place + dice.randrange(4)] = bytes(dice.randrange(256) for _ in range(dice.randrange(4)))
        file.write_bytes(bytes(content))
    tables, _ = read(directory, tmp_path / "out")
    assert tables["ranks"].height == 1


def _scrambled(value: Any, dice: random.Random) -> Any:
    """The same JSON with some values replaced by others of another type."""
    if dice.random() < 0.12:
        return dice.choice([None, True, -1, 10**30, 1.5, "x", [], {}, [1], {"a": 1}, "\ud800", float("1e300"), "-"])
    if isinstance(value, dict):
        return {key: _scrambled(item, dice) for key, item in value.items()}
    if isinstance(value, list):
        return [_scrambled(item, dice) for item in value]
    return value


@pytest.mark.parametrize("seed", range(40))
def test_wrong_types_and_missing_columns_never_raise(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    files = made.gpu_contents() | made.contents()
    for name, text in files.items():
        if name.endswith(".json"):
            files[name] = json.dumps(_scrambled(json.loads(text), dice))
        elif name.endswith(".csv"):
            rows = list(csv.reader(text.splitlines()))
            gone = dice.randrange(len(rows[0]))
            odd = ["", "N/A", "nan", "1e400", "-5", "x", "99999999999999999999", "{}", "[]"]
            rows = [
                [dice.choice(odd) if line and dice.random() < 0.15 else cell for cell in row]
                for line, row in enumerate(rows)
            ]
            kept = [[cell for place, cell in enumerate(row) if place != gone] for row in rows]
            files[name] = "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in kept)
    tables, _ = read(made.write(tmp_path / "profiler", files), tmp_path / "out")
    assert tables["ranks"].height == 1


@pytest.mark.parametrize(
    "content", ["", "\0\0", "[]", "{}", "null", "[[[", '"', "a,b\n1,2,3\n", "1 2 3\n" * 9, ",,,\n,,,\n"]
)
def test_anything_at_all_under_a_known_name_becomes_a_note(tmp_path: Path, content: str) -> None:
    files = dict.fromkeys(made.gpu_contents() | made.contents(), content)
    tables, _ = read(made.write(tmp_path / "profiler", files), tmp_path / "out")
    assert tables["ranks"].height == 1


# --- real samples -------------------------------------------------------------------------------------


def sample(folder: str, rank: int, out: Path) -> Read:
    source = next(source for source in claim(SAMPLES / folder) if source.rank == rank)
    return read_source(source, out)


def table_of(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    with path.open(newline="") as file:
        return list(csv.DictReader(file, skipinitialspace=True))


@needs_samples
@pytest.mark.parametrize(("folder", "rank"), [("profiler", 0), ("profiler", 10), ("run_2/profiler", 1)])
def test_every_step_and_call_of_a_real_step_trace_is_there(tmp_path: Path, folder: str, rank: int) -> None:
    tables, counts = sample(folder, rank, tmp_path)
    check_step_trace(tables, counts, SAMPLES / folder / f"step_trace_raw_{rank}_detail_time.csv")


def check_step_trace(tables: Tables, counts: dict[str, int], path: Path) -> None:
    rows = table_of(path)[:-1]
    assert tables["steps"].select(
        "step", "host_start_ns", "host_end_ns", "forward_start_ns", "backward_end_ns"
    ).rows() == [
        tuple(int(row[column]) * (1 if place == 0 else 10) for place, column in enumerate(columns))
        for row in rows
        for columns in [("step_num", "start_point", "end_point", "fp_point", "bp_point")]
    ]
    names = [name for name in rows[0] if f"{name}_start_point" in rows[0]]
    spans = [
        (int(row[f"{name}_start_point"]) * 10, int(row[f"{name}_end_point"]) * 10) for row in rows for name in names
    ]
    present = [span for span in spans if span != (0, 0)]
    assert counts.get("step_trace_call_absent", 0) == len(spans) - len(present)
    if present:
        assert sorted(tables["collectives"].select("start_ns", "end_ns").rows()) == sorted(present)


@needs_samples
def test_a_real_directory_is_complete_row_by_row(tmp_path: Path) -> None:
    tables, counts = sample("run_2/profiler", 1, tmp_path)
    directory = SAMPLES / "run_2" / "profiler"
    tasks = [line.rsplit(",", 3) for line in (directory / "output_timeline_data_1.txt").read_text().splitlines()[1:]]
    expected = sorted((name, int(Decimal(start) * 10**6), int(Decimal(dur) * 10**6)) for name, _, start, dur in tasks)
    kernels = tables["slices"].filter(pl.col("core") == "AI_CORE")
    assert sorted(kernels.select("name", "start_ns", "dur_ns").rows()) == expected and len(expected) == 107
    log = (directory / "output_format_data_hwts_1.txt").read_text().splitlines()
    starts, ends = sum(line.startswith("Start") for line in log), sum(line.startswith("End") for line in log)
    scheduling = tables["slices"].filter(pl.col("kind") == "sync").height
    assert counts["hwts_tasks_of_operators"] + scheduling == ends == 132
    assert counts["hwts_start_without_end"] == starts - ends == 4
    aicpu = [
        (int(row["run_start"]) * 1000, int(row["run_end"]) * 1000)
        for row in table_of(directory / "aicpu_intermediate_1.csv")
    ]
    found = tables["slices"].filter(pl.col("core") == "AI_CPU").sort("start_ns")
    assert [(start, start + dur) for start, dur in found.select("start_ns", "dur_ns").rows()] == aicpu
    assert (
        counts["timeline_copies"] == len(json.loads((directory / "ascend_timeline_display_1.json").read_text())) == 112
    )
    for name, columns in (("aicore_intermediate_1_detail.csv", 1), ("aicore_intermediate_1_type.csv", 3)):
        assert len(reported(tables, name)) == len(table_of(directory / name)) * columns
    assert len(reported(tables, "output_op_compute_time_1.txt")) == 2 * 106
    assert len(reported(tables, "output_op_compute_time_detail_1.txt")) == 3 * 21 + 105
    assert "operator_facts_unused" not in counts  # all 105 rows of framework_raw describe a slice
    assert tables["ranks"]["compute_recorded"].to_list() == [True]
    assert kernels["input_shapes"].null_count() == 0


@needs_samples
def test_the_vendors_sums_are_those_of_our_slices(tmp_path: Path) -> None:
    tables, _ = sample("run_2/profiler", 1, tmp_path)
    ours = tables["slices"].filter(pl.col("core") == "AI_CORE").group_by("name").agg(pl.col("dur_ns").mean())
    theirs = {key: value for _, key, _, value in reported(tables, "aicore_intermediate_1_detail.csv")}
    assert len(ours) == len(theirs) == 105
    for name, mean in ours.iter_rows():
        assert mean / 10**6 == pytest.approx(theirs[name], abs=1e-9)


@needs_samples
@pytest.mark.parametrize("rank", range(4))
def test_a_real_cluster_is_complete(tmp_path: Path, rank: int) -> None:
    tables, counts = sample("cluster_pipeline4", rank, tmp_path)
    directory = SAMPLES / "cluster_pipeline4"
    check_step_trace(tables, counts, directory / f"step_trace_raw_{rank}_detail_time.csv")
    payloads: list[tuple[int, str, int, int]] = []
    waits: list[tuple[int, str, int]] = []
    for row in table_of(directory / f"hccl_raw_{rank}.csv"):
        if row["step_num"] == "-":
            continue
        for name, (_, _, wait, links) in json.loads(row["communication_operator_cost"], parse_float=Decimal).items():
            waits.append((int(row["step_num"]), name, round(Decimal(wait) * 10**6)))
            for transports in links.values():
                for time, size, _ in transports.values():
                    payloads.append((int(row["step_num"]), name, round(size * 1000), round(time * 10**6)))
    transfers = tables["transfers"]
    payload = transfers.filter(pl.col("kind") == "payload").select("step", "call", "bytes", "time_ns").rows()
    assert sorted(payload) == sorted(payloads)
    assert sorted(transfers.filter(pl.col("kind") == "wait").select("step", "call", "time_ns").rows()) == sorted(waits)
    inside = set(transfers.filter(pl.col("peer").is_not_null())["peer"].to_list())
    assert inside == ({0, 1} if rank < 2 else {2, 3})
    assert tables["ranks"].select("world_size", "pp").rows() == [(4, rank // 2)]
    cluster = table_of(directory / f"ascend_cluster_analyse_pipeline-parallel_2_4_{rank}.csv")
    rows = reported(tables, f"ascend_cluster_analyse_pipeline-parallel_2_4_{rank}.csv")
    assert len(rows) == len(cluster) * 5 and [row[3] for row in rows] == [
        float(cell) for row in cluster for cell in row.values()
    ]
    # For the vendor, computation and communication alone add up to the step: an independent check of the unit.
    for place, step in enumerate(tables["steps"].iter_rows(named=True)):
        total = float(cluster[place]["computation_time"]) + float(cluster[place]["communication_alone_time"])
        assert total * 10**6 == pytest.approx(step["host_end_ns"] - step["host_start_ns"], rel=1e-2)


@needs_samples
def test_all_other_files_of_the_first_sample_are_there(tmp_path: Path) -> None:
    first, counts = sample("profiler", 0, tmp_path / "0")
    directory = SAMPLES / "profiler"
    shapes = json.loads((directory / "dynamic_shape_info_0.json").read_text())
    runs = [run["dur"] for step in shapes["operator"].values() for run in step]
    found = [row for row in reported(first, "dynamic_shape_info_0.json") if row[2] == "operator.dur"]
    assert [row[3] for row in found] == runs
    sums = [value for step in shapes["operator_type"].values() for values in step.values() for value in values]
    assert sorted(
        row[3] for row in reported(first, "dynamic_shape_info_0.json") if "operator_type" in row[2]
    ) == sorted(sums)
    links = json.loads((directory / "flops_scope_0.json").read_text())["data"]["links"]
    assert len(reported(first, "flops_scope_0.json")) == len(links) + 1 and "flops_scope_without_link" not in counts
    assert len(reported(first, "flops_0.txt")) == 4 * 3
    assert counts["operator_facts_unused"] == len(table_of(directory / "framework_raw_0.csv"))
    assert counts["event_far_away"] == 2  # a GPU timeline among an Ascend device's files, decades away
    second, counts = sample("profiler", 1, tmp_path / "1")
    assert (
        len(reported(second, "flops_1.txt")) == 10 * 6
        and len(reported(second, "aicore_intermediate_1_type.csv")) == 5 * 3
    )
    assert len(reported(second, "aicore_intermediate_1_detail.csv")) == 10 * 2
    assert counts["operator_facts_unused"] == 10
    for rank in (0, 1):
        tables, _ = sample("parallel_strategy", rank, tmp_path / f"strategy{rank}")
        assert tables["groups"].select("group", "ranks").rows() == [("stage 0", [0, 1])]
        strategy = [row[3] for row in reported(tables, f"parallel_strategy_{rank}.json") if "gen_strategy" in row[2]]
        assert strategy == [2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
