"""Communication: calls, their parts, groups, and the vendor's own times."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from readers.ascend_db.built_databases import read_file
from readers.ascend_db_builder import (
    GROUP,
    GROUP_NAME,
    NS,
    Builder,
    Read,
    rank_directory,
    read_directory,
    small_run,
)


# Communication
def test_calls_and_their_parts_name_group_size_and_peer(run: Read) -> None:
    call = run.table("collectives").row(0, named=True)
    assert (call["group"], call["seq"], call["kind"]) == (GROUP, 0, "all_reduce")
    assert (call["start_ns"], call["end_ns"], call["bytes"]) == (NS + 5000, NS + 8000, 4000)
    assert (call["dtype"], call["algorithm"], call["step"], call["stream"]) == ("FP32", "MESH-RING", 7, 4)
    columns = ["kind", "peer", "plane", "transport", "group", "call", "bytes", "time_ns", "packets"]
    rows = run.table("transfers").select(pl.col(columns)).rows()
    name = "hcom_allReduce__210_0_1"
    assert rows == [
        ("wait", 1, 1, "LOCAL", GROUP, name, 0, 1000, 1),
        ("payload", 1, 1, "HCCS", GROUP, name, 2048, 1000, 1),
    ]
    assert run.table("groups").select("group", "name", "ranks").rows() == [(GROUP, GROUP_NAME, None)]


def test_places_in_a_group_become_ranks_of_the_job_where_its_members_are_known(tmp_path: Path) -> None:
    build = small_run()
    members = {GROUP_NAME: {"group_name": "tp", "group_rank": 0, "global_ranks": [8, 24]}}
    build.add("META_DATA", name="parallel_group_info", value=json.dumps(members))
    read = read_file(build, tmp_path)
    assert read.table("transfers")["peer"].to_list() == [24, 24]
    assert read.table("groups").filter(pl.col("ranks").is_not_null()).select(
        "group", "ranks", pl.col("dimension").cast(pl.String)
    ).rows() == [(GROUP, [8, 24], "tp")]
    assert read.table("ranks")["tp"].to_list() == [0]


def test_places_are_not_taken_for_ranks_where_our_own_place_is_not_our_rank(tmp_path: Path) -> None:
    read = read_file(small_run(), tmp_path, "ascend_pytorch_profiler_3.db")
    assert read.table("transfers")["peer"].to_list() == [None, None]
    assert read.note("db_peer_unmapped") == 2


def test_tasks_of_the_network_that_only_signal_are_no_transfers(tmp_path: Path) -> None:
    build = small_run()
    for number, kind in ((50, 0), (51, 1)):
        build.task(number, 7500, 7600, "RDMA_SEND", 2, streamId=4)
        build.part(number, "hcom_send__210_0_1", "RDMASend", 2, 1, 64, rdmaType=kind, transportType=1, linkType=65535)
    rows = read_file(build, tmp_path).table("transfers").filter(pl.col("plane") == 2)
    assert rows.select(pl.col("kind", "transport").cast(pl.String), "bytes").rows() == [("payload", "RDMA", 64)]


def test_the_vendors_own_times_appear_beside_the_calls(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path / "capture", small_run())
    summary = Builder()
    name = "hcom_allReduce__210_0_1"
    both = {"hccl_op_name": name, "group_name": GROUP, "step": "step7", "type": "collective"}
    summary.add(
        "CommAnalyzerTime",
        **both,
        start_timestamp=1736410576000005.0,
        elapse_time=0.003,
        transit_time=0.001,
        wait_time=0.0015,
        synchronization_time=0.0005,
        idle_time=0.0005,
    )
    band = {"transit_size": 2.0, "transit_time": 0.5, "bandwidth": 4.0, "large_packet_ratio": 0}
    for package, count, duration in ((0.5, 2, 0.25), (1.0, 1, 0.25)):
        summary.add(
            "CommAnalyzerBandwidth",
            **both,
            **band,
            transport_type="HCCS",
            package_size=package,
            count=count,
            total_duration=duration,
        )
    summary.add(
        "CommAnalyzerMatrix",
        **both | {"hccl_op_name": "allreduce-total"},
        src_rank="0",
        dst_rank="1",
        transport_type="HCCS",
        transit_size=2.0,
        transit_time=0.5,
        bandwidth=4.0,
    )
    summary.add("StepTraceTime", step="7", computing=1.5, free=2.25)
    only = ["CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix", "StepTraceTime"]
    summary.write(directory / "ASCEND_PROFILER_OUTPUT" / "analysis.db", only=only)
    read = read_directory(directory, tmp_path / "out")
    times = read.table("collectives").select("transit_ns", "wait_ns", "sync_ns", "idle_ns", "reduce_ns").row(0)
    assert times == (1000, 1500, 500, 500, None)
    reported = read.table("reported").select(
        pl.col("file").cast(pl.String), "step", pl.col("key", "metric").cast(pl.String), "value"
    )
    key = f"{name}@{GROUP}"
    assert set(reported.rows()) == {
        ("analysis.db", 7, None, "Computing", 1.5),
        ("analysis.db", 7, None, "Free", 2.25),
        ("analysis.db", 7, key, "Elapse Time(ms)", 0.003),
        ("analysis.db", 7, key, "Transit Time(ms)", 0.001),
        ("analysis.db", 7, key, "Wait Time(ms)", 0.0015),
        ("analysis.db", 7, key, "Synchronization Time(ms)", 0.0005),
        ("analysis.db", 7, key, "Idle Time(ms)", 0.0005),
        ("analysis.db", 7, key, "HCCS Transit Size(MB)", 2.0),
        ("analysis.db", 7, key, "HCCS Transit Time(ms)", 0.5),
        ("analysis.db", 7, key, "HCCS Bandwidth(GB/s)", 4.0),
        ("analysis.db", 7, key, "HCCS Large Packet Ratio", 0.0),
        ("analysis.db", 7, key, "HCCS 0.5 MB packets", 2.0),
        ("analysis.db", 7, key, "HCCS 0.5 MB packets time(ms)", 0.25),
        ("analysis.db", 7, key, "HCCS 1.0 MB packets", 1.0),
        ("analysis.db", 7, key, "HCCS 1.0 MB packets time(ms)", 0.25),
        ("analysis.db", 7, f"allreduce-total@{GROUP}", "0-1 Transit Size(MB)", 2.0),
        ("analysis.db", 7, f"allreduce-total@{GROUP}", "0-1 Transit Time(ms)", 0.5),
        ("analysis.db", 7, f"allreduce-total@{GROUP}", "0-1 Bandwidth(GB/s)", 4.0),
    }


def test_calls_of_the_summary_that_the_timeline_lacks_are_counted(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path / "capture", small_run())
    summary = Builder()
    for name in ("hcom_allReduce__210_0_1", "hcom_allReduce__210_1_1"):
        summary.add("CommAnalyzerTime", hccl_op_name=name, group_name=GROUP, transit_time=1)
    summary.write(directory / "ASCEND_PROFILER_OUTPUT" / "analysis.db", only=["CommAnalyzerTime"])
    (directory / "profiler_info_0.json").write_text("{ cut off")
    read = read_directory(directory, tmp_path / "out")
    assert read.note("ascend_call_not_on_timeline") == 1
    assert read.note("ascend_file_unreadable") == 1
    assert read.table("collectives")["transit_ns"].to_list() == [1_000_000]


def test_a_summary_alone_still_gives_calls_and_links(tmp_path: Path) -> None:
    directory = tmp_path / "host_1_20250109123456789_ascend_pt"
    summary = Builder()
    both = {"hccl_op_name": "hcom_send__210_4_1", "group_name": GROUP, "step": None, "type": "p2p"}
    summary.add("CommAnalyzerTime", **both, start_timestamp=1736410576000005.25, elapse_time=2, transit_time=1)
    summary.add(
        "CommAnalyzerMatrix", **both, src_rank="0", dst_rank="1", transport_type="HCCS", transit_size=2, transit_time=1
    )
    output = directory / "ASCEND_PROFILER_OUTPUT"
    summary.write(output / "analysis.db", only=["CommAnalyzerTime", "CommAnalyzerMatrix"])
    (directory / "profiler_info_0.json").write_text('{"rank_id": 0, "config": {}}')
    read = read_directory(directory, tmp_path / "out")
    call = read.table("collectives").row(0, named=True)
    assert (call["kind"], call["seq"], call["step"]) == ("send", 4, None)
    assert (call["start_ns"], call["end_ns"]) == (NS + 5250, NS + 5250 + 2_000_000)
    assert read.table("transfers").select("peer", "bytes", "time_ns").rows() == [(1, 2_000_000, 1_000_000)]
    assert read.table("ranks").height == 1 and read.table("slices").height == 0
