"""GPU operators on one clock with the host; links, sums and stages of communication."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readers import mindinsight_builder as made
from readers.mindinsight.read_directories import Read, read, read_files, reported


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
