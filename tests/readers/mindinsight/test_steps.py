"""Steps of all devices, from all files that tell them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readers import mindinsight_builder as made
from readers.mindinsight.read_directories import Read, read_files, reported


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
