"""Ascend captures in SQLite form: what each table becomes, and that no file can do harm."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readers.ascend_db_builder import (
    GROUP,
    GROUP_NAME,
    NONE,
    NS,
    TABLES,
    Builder,
    Read,
    claimed,
    rank_directory,
    read_directory,
    small_run,
    thread,
)
from stepscope.errors import UnreadableInputError
from stepscope.readers import ascend_db
from stepscope.readers.discovery.source import Source
from stepscope.texts import LANGUAGES

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "ascend" / "db_level1"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason="needs the shared captures")


@pytest.fixture
def run(tmp_path: Path) -> Read:
    return read_directory(rank_directory(tmp_path / "capture", small_run()), tmp_path / "out")


def read_file(build: Builder, tmp_path: Path, name: str = "ascend_pytorch_profiler_0.db", **how: Any) -> Read:
    path = build.write(tmp_path / "flat" / name, **how)
    source = ascend_db.claim_file(path, path.read_bytes()[:100])
    assert source is not None
    return Read(source, tmp_path / "out")


def fingerprints(directory: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.rglob("*") if path.is_file()}


# What is found


def test_a_rank_directory_is_one_source_with_all_its_files(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path, small_run(), rank=5)
    summary = Builder()
    summary.add("StepTraceTime", step="7", computing=1)
    summary.write(directory / "ASCEND_PROFILER_OUTPUT" / "analysis.db", only=["StepTraceTime"])
    [source] = claimed(directory)
    assert (source.reader, source.rank, source.form, source.path) == ("ascend_db", 5, "db", directory)
    assert (source.worker, source.span) == (f"host_{4005}", 20250109123456789)
    assert [path.name for path in source.files] == [
        "ascend_pytorch_profiler_5.db",
        "analysis.db",
        "profiler_info_5.json",
    ]
    # Filled tables that carry data: PYTORCH_API, CANN_API, TASK, COMMUNICATION_OP, COMPUTE_TASK_INFO,
    # COMMUNICATION_TASK_INFO, MEMCPY_INFO, TASK_PMU_INFO, CONNECTION_IDS, PYTORCH_CALLCHAINS, STEP_TIME; StepTraceTime.
    assert source.completeness == 12


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("ascend_pytorch_profiler_4.db", 4),
        ("ascend_mindspore_profiler_4.db", 4),
        ("ascend_mindspore_profiler.db", 3),  # from RANK_DEVICE_MAP
        ("msprof_20250109123456.db", 3),
        ("msmonitor_77_20250109123456789_6.db", 6),
        ("msmonitor_77_20250109123456789_-1.db", 3),
        ("renamed by hand.db", 3),
    ],
)
def test_databases_are_known_by_name_or_content_and_say_their_rank(tmp_path: Path, name: str, rank: int) -> None:
    path = small_run().write(tmp_path / name)
    source = ascend_db.claim_file(path, path.read_bytes()[:100])
    assert source is not None and source.rank == rank and source.path == path
    if "renamed" not in name:
        assert [each.rank for each in claimed(tmp_path)] == [rank]
    assert Read(source, tmp_path / "out").slices(kind="kernel").height == 1


def test_a_folder_of_databases_is_one_source_each_and_a_lone_summary_is_noted(tmp_path: Path) -> None:
    for rank in (0, 1):
        small_run().write(tmp_path / f"ascend_pytorch_profiler_{rank}.db")
    shutil.copy(tmp_path / "ascend_pytorch_profiler_0.db", tmp_path / "analysis.db")
    sources = claimed(tmp_path)
    assert [source.rank for source in sources] == [0, 1]
    assert Read(sources[0], tmp_path / "out").note("db_summary_of_unknown_rank") == 1


def test_an_output_folder_named_directly_still_knows_its_rank_directory(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path, small_run(), rank=2)
    [source] = claimed(directory / "ASCEND_PROFILER_OUTPUT")
    assert source.rank == 2
    assert any(path.name == "profiler_info_2.json" for path in source.files)


def test_loose_databases_beside_rank_directories_do_not_hide_them(tmp_path: Path) -> None:
    rank_directory(tmp_path, small_run())
    small_run().write(tmp_path / "msmonitor_77_20250109123456789_0.db")
    assert claimed(tmp_path) == []


def test_of_several_msprof_exports_the_newest_is_read(tmp_path: Path) -> None:
    prof = tmp_path / "PROF_000001_20250109123456789_ABC"
    for stamp in ("20250109123456", "20250109130000"):
        small_run().write(prof / f"msprof_{stamp}.db")
    summary = Builder()
    summary.add("CommAnalyzerTime", hccl_op_name="hcom_allReduce__210_0_1", group_name=GROUP, transit_time=1)
    summary.write(prof / "analyze" / "communication_analyzer.db", only=["CommAnalyzerTime"])
    (prof / "device_0").mkdir()
    chip = {"rank_id": "11", "DeviceInfo": [{"ai_core_num": 24}]}
    (prof / "device_0" / "info.json.0").write_text(json.dumps(chip))
    [source] = claimed(prof)
    assert [path.name for path in source.files] == [
        "msprof_20250109130000.db",
        "communication_analyzer.db",
        "info.json.0",
    ]
    read = Read(source, tmp_path / "out")
    assert read.table("ranks").select("rank", "compute_units").rows() == [(11, 24)]
    assert read.note("db_export_older") == 1
    assert read.table("collectives")["transit_ns"].to_list() == [1_000_000]


def test_other_directories_are_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "some.db").write_bytes(b"no database")
    assert claimed(tmp_path) == []
    assert ascend_db.claim_file(tmp_path / "some.db", b"no database") is None


# The timeline


def test_times_are_exact_also_where_they_are_written_as_text(run: Read) -> None:
    assert run.slices(name="aten::mul").select("start_ns", "dur_ns").rows() == [(NS + 100, 300)]
    assert run.slices(name="Mul1").select("start_ns", "dur_ns").rows() == [(NS + 3000, 1000)]


def test_every_slice_has_its_kind_and_track(run: Read) -> None:
    tracks = run.table("tracks").select("track", "name", "process", track_kind="kind")
    found = run.table("slices").join(tracks, on="track")
    rows = found.select(pl.col("name").cast(pl.String), pl.col("kind").cast(pl.String), "name_right", "process").rows()
    assert set(rows) == {
        ("ProfilerStep#7", "step", "Thread 1", "Python CPU"),
        ("aten::mul", "operator", "Thread 1", "Python CPU"),
        ("Enqueue", "runtime", "Thread 1", "Python CPU"),
        ("Dequeue@aten::mul", "runtime", "Thread 2", "Python CPU"),
        ("HcclAllreduce", "operator", "Thread 1", "Python CPU"),
        ("nn.Module: Linear_0", "module", "Thread 1", "Python CPU"),
        ("MulBackward0", "operator", "Thread 3", "Python CPU"),
        ("Node@launch", "runtime", "Thread 2", "CANN CPU"),
        ("AscendCL@aclrtMemcpyAsync", "runtime", "Thread 2", "CANN CPU"),
        ("AI_CORE", "reported", "Stream 2", "Ascend Hardware NPU"),
        ("Mul1", "kernel", "Stream 2", "Ascend Hardware NPU"),
        ("MEMCPY_ASYNC", "copy", "Stream 2", "Ascend Hardware NPU"),
        ("Notify_Wait", "wait", "Plane 1", "HCCL NPU"),
        ("Memcpy", "comm_task", "Plane 1", "HCCL NPU"),
        ("Notify_Record", "comm_task", "Plane 1", "HCCL NPU"),
        ("hcom_allReduce__210_0_1", "collective", "Group 0 Communication", "HCCL NPU"),
    }
    assert run.table("slices")["slice"].is_unique().all()


def test_a_wrapper_of_other_tasks_is_shown_but_not_counted(run: Read) -> None:
    assert run.slices(name="AI_CORE")["kind"].to_list() == ["reported"]
    assert run.note("db_shell_tasks") == 1


def test_a_task_that_is_listed_twice_counts_once(tmp_path: Path) -> None:
    build = small_run()
    build.task(10, 3000, 4000, "KERNEL_AICORE", 1, contextId=0)
    read = read_file(build, tmp_path)
    assert read.slices(name="Mul1")["kind"].cast(pl.String).sort().to_list() == ["kernel", "reported"]
    assert read.note("db_tasks_repeated") == 1


def test_a_task_without_context_that_wraps_nothing_counts(tmp_path: Path) -> None:
    build = small_run()
    build.task(30, 8500, 8600, "AI_CORE", 1, taskId=10)  # same numbers, but after the other has ended
    read = read_file(build, tmp_path)
    assert read.slices(name="AI_CORE")["kind"].cast(pl.String).sort().to_list() == ["kernel", "reported"]


def test_kernels_carry_what_the_table_of_computing_tasks_says(run: Read) -> None:
    columns = ["type", "core", "input_shapes", "output_shapes", "dtypes", "formats", "stream", "correlation", "step"]
    row = run.slices(name="Mul1").select(pl.col(columns).cast(pl.String)).row(0)
    assert row == ("Mul", "MIX_AIV", "2,3;2,3", "2,3", "FLOAT;FLOAT", "ND;ND->ND", "2", "1", "7")
    copy = run.slices(name="MEMCPY_ASYNC").select(pl.col("bytes", "type").cast(pl.String)).row(0)
    assert copy == ("4096", "host to device")


def test_calls_are_linked_by_their_connections(run: Read) -> None:
    assert run.links("launch") == {
        ("Node@launch", "Mul1"),
        ("Node@launch", "AI_CORE"),
        ("AscendCL@aclrtMemcpyAsync", "MEMCPY_ASYNC"),
        ("Node@launch", "Notify_Wait"),
        ("Node@launch", "Memcpy"),
        ("Node@launch", "Notify_Record"),
        ("Node@launch", "hcom_allReduce__210_0_1"),
    }
    assert run.links("operator_launch") == {("aten::mul", "Mul1"), ("HcclAllreduce", "hcom_allReduce__210_0_1")}
    assert run.links("queue") == {("Enqueue", "Dequeue@aten::mul")}
    assert run.links("forward_backward") == {("aten::mul", "MulBackward0")}


def test_the_operator_behind_a_task_is_found_through_the_queue_too(run: Read) -> None:
    # The copy has no connection to an operator, but its call runs inside a dequeue whose enqueue lies in aten::mul.
    assert run.slices(name="MEMCPY_ASYNC")["operator"].to_list() == ["aten::mul"]
    assert run.slices(name="Memcpy")["operator"].to_list() == ["HcclAllreduce"]


def test_call_stacks_are_kept_outermost_first_and_handed_to_what_they_launch(run: Read) -> None:
    assert run.table("stacks")["frames"].to_list() == ["outer.py(9): main\ninner.py(3): f"]
    assert run.slices(name="Mul1")["stack"].to_list() == [0]
    assert run.slices(name="HcclAllreduce")["stack"].to_list() == [None]


def test_steps_come_from_the_marks_with_the_vendors_device_window(run: Read) -> None:
    row = run.table("steps").row(0, named=True)
    assert (row["step"], row["host_start_ns"], row["host_end_ns"]) == (7, NS, NS + 9000)
    # First launch: the kernel and its copy; the window ends with the host's mark, which is later than the last task.
    assert (row["device_start_ns"], row["device_end_ns"]) == (NS + 3000, NS + 9000)
    assert row["marks_from"] == "profiler_step"


def test_without_marks_the_table_of_steps_counts(tmp_path: Path) -> None:
    build = small_run()
    build.rows["PYTORCH_API"] = build.rows["PYTORCH_API"][1:]
    assert read_file(build, tmp_path).table("steps")["marks_from"].to_list() == ["step_time"]


def test_without_any_steps_the_window_is_one(tmp_path: Path) -> None:
    build = small_run()
    build.rows["PYTORCH_API"] = []
    del build.rows["STEP_TIME"]
    read = read_file(build, tmp_path)
    assert read.table("steps")["marks_from"].to_list() == ["window"]
    assert read.note("no_step_marks") == 1


def test_shapes_and_types_that_stand_in_each_others_columns_are_exchanged(tmp_path: Path) -> None:
    build = small_run()
    swapped = {"inputShapes": build.text["float;\r\nScalar"], "inputDtypes": build.text["2,3;\r\n"]}
    build.python(8000, 8100, "aten::add", **swapped)
    read = read_file(build, tmp_path)
    row = read.slices(name="aten::add").select(pl.col("input_shapes", "dtypes").cast(pl.String)).row(0)
    assert row == ("2,3;", "float;Scalar")
    assert read.note("db_columns_swapped") == 1


def test_markers_collections_and_system_calls_are_slices(tmp_path: Path) -> None:
    build = small_run()
    for kind, start, end in ((2, 100, 300), (0, 400, 999)):
        build.add(
            "MSTX_EVENTS",
            startNs=NS + start,
            endNs=NS + end,
            eventType=kind,
            rangeId=1,
            message=build.text[f"mark {kind}"],
            globalTid=thread(1),
            domainId=build.text["default"],
            connectionId=77 if kind == 2 else NONE,
        )
    build.task(40, 8000, 8001, "PROFILER_TRACE_EX", 77)
    build.add("GC_RECORD", startNs=NS + 10, endNs=NS + 20, globalTid=thread(1))
    build.add("OSRT_API", name=build.text["poll"], globalTid=thread(9), startNs=NS + 30, endNs=NS + 35)
    read = read_file(build, tmp_path)
    assert read.slices(name="mark 2").select(pl.col("kind").cast(pl.String), "dur_ns").rows() == [("annotation", 200)]
    assert read.slices(name="mark 0").select(pl.col("kind").cast(pl.String), "dur_ns").rows() == [("mark", 0)]
    assert read.slices(kind="gc").select("start_ns", "dur_ns").rows() == [(NS + 10, 10)]
    assert read.slices(name="poll")["kind"].to_list() == ["runtime"]
    assert read.links("flow") == {("mark 2", "PROFILER_TRACE_EX")}
    number = read.slices(name="mark 2")["slice"].item()
    details = read.table("details").filter(pl.col("slice") == number)["json"].item()
    assert json.loads(details) == {"eventType": 2, "rangeId": 1, "domainId": "default"}


def test_counters_of_tasks_have_the_names_and_units_of_the_kernel_tables(run: Read) -> None:
    number = run.slices(name="Mul1")["slice"].item()
    rows = run.table("pmu").select("slice", pl.col("metric").cast(pl.String), "value").rows()
    assert set(rows) == {
        (number, "aicore_time(us)", 1.5),
        (number, "aic_mac_ratio", 0.25),
        (number, "Block Dim", 8.0),
        (number, "Mix Block Dim", 0.0),
    }


def test_rows_about_tasks_that_are_not_there_are_counted(tmp_path: Path) -> None:
    build = small_run()
    build.kernel(999, "lost", "AI_CORE", "Lost")
    build.part(999, "lost", "Memcpy", 0, 0)
    build.part(14, "again", "Memcpy", 0, 0)
    build.add("TASK_PMU_INFO", globalTaskId=999, name=build.text["aic_mac_ratio"], value=1)
    read = read_file(build, tmp_path)
    for table in ("COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO", "TASK_PMU_INFO"):
        assert read.note("db_rows_without_task", table=table) == 1, table
    assert read.note("db_rows_repeated", table="COMMUNICATION_TASK_INFO") == 1
    assert read.slices(name="Memcpy").height == 1


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


def test_the_vendors_own_times_stand_beside_the_calls(tmp_path: Path) -> None:
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


# Memory, counters, identity


def test_memory_tables_become_curves_and_blocks(tmp_path: Path) -> None:
    build = small_run()
    text = build.text
    build.add(
        "MEMORY_RECORD",
        component=text["PTA"],
        timestamp=NS + 1,
        totalAllocated=10,
        totalReserved=20,
        totalActive=15,
        streamPtr=5,
        deviceId=0,
    )
    build.add("NPU_MEM", type=text["app"], ddr=1024, hbm=2048, timestampNs=NS + 2, deviceId=0)
    build.add("NPU_MODULE_MEM", moduleId=33, timestampNs=NS + 3, totalReserved=77, deviceId=0)
    build.add("NPU_MODULE_MEM", moduleId=3, timestampNs=NS + 3, totalReserved=(1 << 63) - 1, deviceId=0)
    block = {"deviceId": 0, "streamPtr": 5, "name": text["aten::empty"]}
    build.add("OP_MEMORY", **block, size=512, allocationTime=NS + 10, releaseTime=NS + 20, activeReleaseTime=NS + 30)
    build.add("OP_MEMORY", **block, size=256, allocationTime=NS + 11)
    build.add("OP_MEMORY", **block, size=-128, releaseTime=NS + 12)
    build.add("OP_MEMORY", deviceId=0, name=text["Conv2D1"], size=64, allocationTime=NS + 13, releaseTime=NS + 14)
    for kind, moment in (("allocate", 13), ("release", 14)):
        build.add(
            "NPU_OP_MEM",
            operatorName=text["Conv2D1"],
            addr=4096,
            type=text[kind],
            size=64,
            timestampNs=NS + moment,
            totalAllocate=64,
            totalReserve=100,
            component=text["GE"],
            deviceId=0,
        )
    read = read_file(build, tmp_path)
    curves = read.table("memory").select(
        pl.col("device", "component").cast(pl.String), "time_ns", "allocated", "reserved", "active"
    )
    assert set(curves.rows()) == {
        ("npu:0", "PTA", NS + 1, 10, 20, 15),
        ("npu:0", "APP", NS + 2, None, 3072, None),
        ("npu:0", "module APP", NS + 3, None, 77, None),
    }
    assert read.note("db_module_unsupported") == 1
    columns = ["pool", "operator", "bytes", "alloc_ns", "free_ns", "before_window", "address"]
    blocks = read.table("allocations").select(pl.col(columns).exclude("pool"), pl.col("pool").cast(pl.String))
    assert set(blocks.select(columns).rows()) == {
        ("PTA", "aten::empty", 512, NS + 10, NS + 20, False, None),
        ("PTA", "aten::empty", 256, NS + 11, None, False, None),
        ("PTA", "aten::empty", 128, None, NS + 12, True, None),
        ("GE", "Conv2D1", 64, NS + 13, NS + 14, False, 4096),
    }
    assert read.note("db_rows_repeat_table", table="NPU_OP_MEM") == 2


def test_without_a_list_of_blocks_they_come_from_the_graph_engines_operations(tmp_path: Path) -> None:
    build = small_run()
    for kind, moment, size in (("allocate", 5, 64), ("release", 9, 64), ("release", 3, 32)):
        build.add(
            "NPU_OP_MEM",
            operatorName=build.text["Conv"],
            addr=4096,
            type=build.text[kind],
            size=size,
            timestampNs=NS + moment,
            totalAllocate=size,
            totalReserve=100,
            component=build.text["GE"],
            deviceId=0,
        )
    read = read_file(build, tmp_path)
    rows = read.table("allocations").select("bytes", "alloc_ns", "free_ns", "before_window").rows()
    assert set(rows) == {(64, NS + 5, NS + 9, False), (32, None, NS + 3, True)}
    assert read.table("memory").select("time_ns", "allocated").rows() == [(NS + 3, 32), (NS + 5, 64), (NS + 9, 64)]


def test_samples_become_series_under_the_timelines_names_and_units(tmp_path: Path) -> None:
    build = small_run()
    text = build.text
    build.add("AICORE_FREQ", deviceId=0, timestampNs=NS, freq=1800)
    build.add("HBM", deviceId=0, timestampNs=NS, bandwidth=3 << 20, hbmId=2, type=text["read"])
    build.add("LLC", deviceId=0, timestampNs=NS, hitRate=85.5, throughput=1 << 20, llcId=1, mode=text["write"])
    build.add("NPU_MEM", type=text["device"], ddr=1024, hbm=2048, timestampNs=NS, deviceId=0)
    for accelerator in (0, 1):
        build.add("ACC_PMU", accId=accelerator, readBwLevel=accelerator, timestampNs=NS, deviceId=0)
    build.add("PCIE", deviceId=0, timestampNs=NS, txPostMin=1, txPostMax=2)
    build.add("CPU_USAGE", timestampNs=NS, cpuId="3", usage=25)
    build.add("CPU_USAGE", timestampNs=None, cpuId="3", usage=25)
    build.add(
        "SAMPLE_PMU_SUMMARY", deviceId=0, metric=text["vec_ratio"], value=0.5, coreId=7, coreType=text["AI_VECTOR_CORE"]
    )
    read = read_file(build, tmp_path)
    names = read.table("tracks").filter(pl.col("kind") == "counter").select("track", "name")
    rows = read.table("counters").join(names, on="track").select("name", "time_ns", "value").rows()
    assert set(rows) == {
        ("AI Core Freq (MHz)", NS, 1800.0),
        ("HBM 2/Read(MB/s)", NS, 3.0),
        ("LLC 1 Write/Hit Rate(%)", NS, 85.5),
        ("LLC 1 Write/Throughput(MB/s)", NS, 1.0),
        ("Device/DDR (KB)", NS, 1.0),
        ("Device/HBM (KB)", NS, 2.0),
        ("read_bandwidth, accelerator 0", NS, 0.0),
        ("read_bandwidth, accelerator 1", NS, 1.0),
        ("txPostMin", NS, 1.0),
        ("txPostMax", NS, 2.0),
        ("CPU 3 (%)", NS, 25.0),
    }
    assert read.table("cpu").select("time_ns", pl.col("scope").cast(pl.String), "id", "idle").rows() == [
        (NS, "machine", 3, 0.75)
    ]
    assert read.note("db_rows_empty", table="CPU_USAGE") == 1
    summary = read.table("reported").select(pl.col("key", "metric").cast(pl.String), "value").rows()
    assert summary == [("AI_VECTOR_CORE core 7", "vec_ratio", 0.5)]


def test_the_rank_is_described_by_tables_and_the_files_beside(tmp_path: Path) -> None:
    build = small_run()
    build.add("META_DATA", name="SCHEMA_VERSION", value="1.0.0")
    arguments = {"world_size": 16, "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2}
    build.add("META_DATA", name="distributed_args", value=json.dumps(arguments | {"data_parallel_size": 4}))
    build.add("SESSION_TIME_INFO", startTimeNs=NS, endTimeNs=NS + 9)
    read = read_directory(rank_directory(tmp_path / "capture", build, rank=3), tmp_path / "out")
    row = read.table("ranks").row(0, named=True)
    assert (row["rank"], row["world_size"], row["host"], row["device_kind"]) == (3, 16, "node-a", "npu")
    assert (row["device_name"], row["device_index"], row["framework"]) == ("Ascend910B", 0, "pytorch")
    assert (row["level"], row["tp"], row["dp"], row["pp"]) == ("Level1", 1, 1, 0)
    assert json.loads(row["switches"])["session"] == {"startTimeNs": NS, "endTimeNs": NS + 9}
    assert json.loads(row["versions"]) == {"database_schema": "1.0.0"}
    assert (row["first_ns"], row["last_ns"]) == (NS, NS + 9000)


def test_a_wrong_device_map_is_noted_and_the_tasks_are_believed(tmp_path: Path) -> None:
    build = small_run()
    build.rows["RANK_DEVICE_MAP"] = [{"rankId": 0, "deviceId": 6}]
    read = read_file(build, tmp_path)
    assert read.note("db_device_disagrees") == 1
    assert read.table("ranks")["device_index"].to_list() == [0]


def test_devices_of_one_database_have_lanes_of_their_own(tmp_path: Path) -> None:
    build = small_run()
    build.task(60, 3000, 3100, "KERNEL_AIVEC", deviceId=1)
    read = read_file(build, tmp_path)
    lanes = read.table("tracks").filter(pl.col("kind") == "stream").select("name", "process").rows()
    assert set(lanes) == {("Stream 2", "Ascend Hardware 0 NPU"), ("Stream 2", "Ascend Hardware 1 NPU")}
    assert read.note("db_several_devices") == 2


# Schemas old, new and touched by others


def test_renamed_added_and_missing_columns_do_no_harm(tmp_path: Path) -> None:
    build = small_run()
    compute = TABLES["COMPUTE_TASK_INFO"].replace("blockDim", "blockNum").replace("mixBlockDim", "mixBlockNum")
    build.definitions["COMPUTE_TASK_INFO"] = compute + ", opState INTEGER, waitNs INTEGER"
    for row in build.rows["COMPUTE_TASK_INFO"]:
        row["blockNum"], row["mixBlockNum"] = row.pop("blockDim"), row.pop("mixBlockDim")
        row.update({"opState": build.text["dynamic"], "waitNs": 5})
    build.definitions["TASK"] = "depth INTEGER, " + TABLES["TASK"].replace(" contextId INTEGER,", "")
    for row in build.rows["TASK"]:
        row.pop("contextId")
    build.extra = ["ALTER TABLE CANN_API ADD COLUMN depth INTEGER"]
    read = read_file(build, tmp_path)
    assert read.table("pmu").filter(pl.col("metric") == "Block Dim")["value"].to_list() == [8.0]
    assert read.slices(name="Mul1")["dur_ns"].to_list() == [1000]
    number = read.slices(name="Mul1")["slice"].item()
    details = json.loads(read.table("details").filter(pl.col("slice") == number)["json"].item())
    assert details["opState"] == "dynamic" and "depth" not in details and "waitNs" not in details


def test_what_viewers_put_into_a_database_is_left_out_and_counted(tmp_path: Path) -> None:
    build = small_run()
    build.extra = [
        "CREATE TABLE OVERLAP_ANALYSIS (id INTEGER PRIMARY KEY AUTOINCREMENT, startNs, endNs, type)",
        f"INSERT INTO OVERLAP_ANALYSIS (startNs, endNs, type) VALUES ({NS}, {NS + 5}, 0), ({NS}, {NS + 7}, 1)",
        "CREATE TABLE connectionCats (connectionId INT, cat)",
    ]
    read = read_file(build, tmp_path)
    assert read.note("db_table_foreign", table="OVERLAP_ANALYSIS") == 2
    assert read.note("db_table_foreign", table="sqlite_sequence") == 1
    assert read.slices(kind="reported").height == 1  # the wrapper, as without the viewer


def test_a_level_0_database_without_types_still_has_its_kernels(tmp_path: Path) -> None:
    build = small_run()
    for row in build.rows["COMPUTE_TASK_INFO"]:
        row.update(dict.fromkeys(set(row) - {"name", "globalTaskId", "blockDim", "mixBlockDim"}, build.text["N/A"]))
    for row in build.rows["COMMUNICATION_TASK_INFO"]:
        row.update({"planeId": NONE, "srcRank": NONE, "dstRank": NONE, "linkType": 65535, "transportType": 65535})
    read = read_file(build, tmp_path)
    found = read.slices(name="Mul1").select(pl.col("kind", "type", "core", "input_shapes").cast(pl.String)).row(0)
    assert found == ("kernel", None, "KERNEL_AICORE", None)
    assert read.table("transfers")["peer"].to_list() == [None, None]
    assert read.slices(name="Notify_Wait")["kind"].to_list() == ["wait"]


def test_a_mindspore_database_has_no_framework_tables(tmp_path: Path) -> None:
    build = small_run()
    framework = ("PYTORCH_API", "CONNECTION_IDS", "PYTORCH_CALLCHAINS", "STEP_TIME", "MEMORY_RECORD", "OP_MEMORY")
    read = read_file(build, tmp_path, "ascend_mindspore_profiler_0.db", only=set(TABLES) - set(framework))
    assert read.table("ranks")["framework"].to_list() == ["mindspore"]
    assert read.slices(kind="kernel").height == 1
    assert ("Node@launch", "Mul1") in read.links("launch")
    assert read.note("db_table_missing", table="PYTORCH_API") == 0
    assert read.note("db_table_missing", table="NPU_MODULE_MEM") == 1


def test_missing_tables_are_noted_with_the_switch_that_fills_them(tmp_path: Path) -> None:
    read = read_file(small_run(), tmp_path)
    missing = {note.params["table"]: note.params["switch"] for note in read.notes if note.code == "db_table_missing"}
    assert missing["OP_MEMORY"] == missing["MEMORY_RECORD"] == "profile_memory=True"
    assert read.note("db_summary_missing") == 1


def test_msprof_is_not_asked_for_tables_that_only_a_framework_adds(tmp_path: Path) -> None:
    added = {"PYTORCH_API", "CONNECTION_IDS", "PYTORCH_CALLCHAINS", "STEP_TIME", "MEMORY_RECORD", "OP_MEMORY"}
    added.add("META_DATA")  # the job's own words, with the framework among them
    read = read_file(small_run(), tmp_path, "msprof_20250109074903.db", only=set(TABLES) - added)
    notes = {note.params["table"]: note for note in read.notes if note.code == "db_table_missing"}
    assert not added & notes.keys()
    assert notes["NPU_MODULE_MEM"].params["switch"] == "--sys-hardware-mem=on"
    (summary,) = [note for note in read.notes if note.code == "db_summary_missing"]
    for language in ("en", "zh"):
        assert "msprof --analyze=on" in summary.sentence(language)
    # The same tables under the name of a framework's file are that framework's.
    read = read_file(small_run(), tmp_path, "ascend_pytorch_profiler_0.db", only=set(TABLES) - added)
    missing = {note.params["table"]: note.params["switch"] for note in read.notes if note.code == "db_table_missing"}
    assert missing["PYTORCH_API"] == "activities=[ProfilerActivity.CPU]"
    assert missing["NPU_MODULE_MEM"] == "profile_memory=True"


def test_unknown_task_types_are_counted_and_compute_only_if_described(tmp_path: Path) -> None:
    build = small_run()
    for number in (70, 71, 72):
        build.task(number, 8000 + number, 8001 + number, "ZEBRA")
    build.kernel(72, "Striped", "N/A", "Stripe")
    read = read_file(build, tmp_path)
    assert read.slices(name="ZEBRA")["kind"].to_list() == ["sync", "sync"]
    assert read.slices(name="Striped")["kind"].to_list() == ["kernel"]
    assert read.note("db_task_type_unknown", type="ZEBRA") == 3


def test_ids_without_a_text_are_shown_and_counted(tmp_path: Path) -> None:
    build = small_run()
    build.task(80, 8000, 8001, "KERNEL_AIVEC", taskType=987654)
    read = read_file(build, tmp_path)
    assert read.slices(name="?").height == 1
    assert read.note("db_text_missing") == 1


def test_texts_may_stand_where_ids_are_expected(tmp_path: Path) -> None:
    build = small_run()
    build.definitions["CANN_API"] = TABLES["CANN_API"].replace("name INTEGER", "name TEXT")
    build.rows["CANN_API"][0]["name"] = "spelled out"
    assert read_file(build, tmp_path).slices(name="Node@spelled out").height == 1


def test_times_that_cannot_be_true_are_dropped_and_counted(tmp_path: Path) -> None:
    build = small_run()
    build.task(90, 0, 0, "KERNEL_AIVEC", startNs=None)
    build.task(91, 0, 0, "KERNEL_AIVEC", startNs="soon", endNs=NS)
    build.task(92, 0, 0, "KERNEL_AIVEC", startNs=(1 << 63) - 1, endNs=(1 << 63) - 1)
    build.task(93, 0, 0, "KERNEL_AIVEC", startNs=5, endNs=9)
    build.task(94, 200, 100, "KERNEL_AIVEC")
    read = read_file(build, tmp_path)
    assert read.note("event_without_time") == 3
    assert read.note("event_far_away") == 1
    assert read.note("duration_negative") == 1
    assert read.slices(name="KERNEL_AIVEC").select("start_ns", "dur_ns").rows() == [(NS + 200, 0)]


# Files that are wrong, damaged or hostile


def test_what_is_no_database_is_refused_with_a_clear_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    for content, code in ((b"", "empty_file"), (b"PK\3\4 a zip file, not a database", "db_not_sqlite")):
        path.write_bytes(content)
        [source] = claimed(tmp_path)
        assert source.completeness == 0
        with pytest.raises(UnreadableInputError) as error:
            Read(source, tmp_path / "out")
        assert error.value.code == code
        assert all(str(path) in error.value.message(language) for language in LANGUAGES)


def test_a_database_of_something_else_is_refused_by_naming_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(UnreadableInputError) as error:
        Read(claimed(tmp_path)[0], tmp_path / "out")
    assert error.value.code == "db_foreign_schema" and "recipes" in error.value.message()
    shutil.copy(path, tmp_path / "kitchen.db")
    assert ascend_db.claim_file(tmp_path / "kitchen.db", (tmp_path / "kitchen.db").read_bytes()[:100]) is None


def test_a_database_without_rows_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError) as error:
        read_file(Builder(), tmp_path)
    assert error.value.code == "db_without_data"


def test_a_damaged_summary_is_only_noted(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path / "capture", small_run())
    (directory / "ASCEND_PROFILER_OUTPUT" / "analysis.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    read = read_directory(directory, tmp_path / "out")
    assert read.note("db_file_unreadable") == 1
    assert read.slices(kind="kernel").height == 1


def test_rows_before_a_broken_page_are_kept(tmp_path: Path) -> None:
    build = small_run()
    for number in range(20_000):
        build.task(1000 + number, 10_000 + number * 10, 10_005 + number * 10, "KERNEL_AIVEC")
    path = build.write(tmp_path / "ascend_pytorch_profiler_0.db")
    data = bytearray(path.read_bytes())
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        # The leaf page that holds the middle of the table: its first byte says so, and it holds that row's time.
        wanted = (NS + 10_000 + 10_000 * 10).to_bytes(8, "big")
    connection.close()
    place = data.find(wanted) // size * size
    data[place : place + size] = b"\xa5" * size
    path.write_bytes(data)
    read = Read(claimed(tmp_path)[0], tmp_path / "out")
    kept = read.slices(name="KERNEL_AIVEC").height
    assert 8_000 < kept < 12_000
    assert read.note("db_table_damaged", table="TASK") == 1
    assert read.slices(name="aten::mul").height == 1  # other tables are whole


def test_the_write_ahead_log_is_read_and_nothing_is_touched(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    path = small_run().write(capture / "ascend_pytorch_profiler_0.db")
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    text = dict(writer.execute("SELECT value, id FROM STRING_IDS"))["Mul1"]
    writer.execute(f"INSERT INTO TASK VALUES ({NS}, {NS + 5}, 0, 99, 500, 1, {text}, {NONE}, 2, 500, 0)")
    writer.commit()
    # As a killed process leaves it: the row is in the log only.
    killed = tmp_path / "killed"
    shutil.copytree(capture, killed)
    writer.close()
    before = fingerprints(killed)
    [source] = claimed(killed)
    assert any(file.name.endswith("-wal") for file in source.files)
    read = Read(source, tmp_path / "out")
    assert read.slices(name="Mul1").height == 2
    assert fingerprints(killed) == before


def test_reading_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    directory = rank_directory(tmp_path / "capture", small_run())
    with sqlite3.connect(directory / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db") as connection:
        connection.execute("PRAGMA journal_mode=WAL")  # closed cleanly: the file says WAL, but no log is there
    connection.close()
    before = fingerprints(directory)
    read_directory(directory, tmp_path / "out")
    assert fingerprints(directory) == before


def test_a_rollback_journal_is_noted_and_never_played_back(tmp_path: Path) -> None:
    path = small_run().write(tmp_path / "ascend_pytorch_profiler_0.db")
    path.with_name(path.name + "-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 600)
    before = fingerprints(tmp_path)
    read = Read(claimed(tmp_path)[0], tmp_path.parent / "out")
    assert read.note("db_journal_beside") == 1
    assert fingerprints(tmp_path) == before


def test_views_and_computed_columns_are_never_evaluated(tmp_path: Path) -> None:
    build = small_run()
    endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT"
    del build.definitions["MSTX_EVENTS"], build.definitions["GC_RECORD"], build.rows["STEP_TIME"]
    build.definitions["STEP_TIME"] = (
        "id INTEGER, startNs INTEGER, endNs INTEGER GENERATED ALWAYS AS (startNs + 5) VIRTUAL"
    )
    build.add("STEP_TIME", id=1, startNs=NS)
    build.extra = [
        f"CREATE VIEW MSTX_EVENTS AS {endless} x AS startNs, x AS endNs FROM t",
        f"CREATE VIEW GC_RECORD AS {endless} x AS startNs, x AS endNs FROM t",
        "CREATE VIEW HBM_SHADOW AS SELECT * FROM MSTX_EVENTS",
        "CREATE TRIGGER trap AFTER INSERT ON TASK BEGIN DELETE FROM TASK; END",
    ]
    began = time.monotonic()
    read = read_file(build, tmp_path)
    assert time.monotonic() - began < 10
    assert read.note("db_table_is_view") == 2
    assert read.slices(kind="kernel").height == 1
    assert read.note("db_rows_empty", table="STEP_TIME") == 1


def test_very_long_texts_are_cut(tmp_path: Path) -> None:
    build = small_run()
    build.task(95, 8000, 8100, "x" * 3_000_000)
    read = read_file(build, tmp_path)
    assert read.note("db_text_cut", table="STRING_IDS") == 1
    longest = read.table("slices")["name"].cast(pl.String).str.len_bytes().max()
    assert longest == 1 << 20


def test_a_table_cannot_have_more_rows_than_its_file_has_room_for(tmp_path: Path) -> None:
    # A directory page whose entries all point to one leaf multiplies that leaf's rows.
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    build = small_run()
    for number in range(40_000):
        build.task(1000 + number, number, number + 1, "KERNEL_AIVEC")
    build.write(path)
    data = bytearray(path.read_bytes())
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'TASK'").fetchone()[0]
    connection.close()
    start = (root - 1) * size
    assert data[start] == 5  # an interior page
    cells = int.from_bytes(data[start + 3 : start + 5], "big")
    places = [int.from_bytes(data[start + 12 + 2 * n : start + 14 + 2 * n], "big") for n in range(cells)]
    for place in places:
        data[start + place : start + place + 4] = root.to_bytes(4, "big")  # each child is the page itself
    path.write_bytes(data)
    began = time.monotonic()
    read = Read(claimed(tmp_path)[0], tmp_path / "out")
    assert time.monotonic() - began < 20
    assert read.note("db_table_damaged", table="TASK") == 1


def test_odd_names_of_files_and_folders_are_opened(tmp_path: Path) -> None:
    path = small_run().write(tmp_path / "a %20 ?mode=rwc#é 数据" / "ascend_pytorch_profiler_0.db")
    [source] = claimed(path.parent)
    assert Read(source, tmp_path / "out").slices(kind="kernel").height == 1
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_database_cut_anywhere_gives_rows_or_a_clear_error(tmp_path: Path) -> None:
    build = small_run()
    build.add("AICORE_FREQ", deviceId=0, timestampNs=NS, freq=1800)
    whole = build.write(tmp_path / "whole" / "ascend_pytorch_profiler_0.db").read_bytes()
    for number, length in enumerate(range(1, len(whole), len(whole) // 40)):
        _survives(whole[:length], tmp_path / f"cut{number}")


def test_a_database_changed_at_random_gives_rows_or_a_clear_error(tmp_path: Path) -> None:
    build = small_run()
    whole = build.write(tmp_path / "whole" / "ascend_pytorch_profiler_0.db").read_bytes()
    chance = random.Random(20250109)
    for number in range(30):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 5, 50, 500))):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        _survives(bytes(data), tmp_path / f"changed{number}")


def test_cells_of_any_type_are_survived(tmp_path: Path) -> None:
    chance = random.Random(7)
    odd = (None, -1, 0, 1 << 62, -(1 << 63), 1.5e300, float("inf"), "", "text", b"\xff\xfe", "9" * 40, NONE)
    for number in range(12):
        build = small_run()
        build.add("HBM", deviceId=0, timestampNs=NS, bandwidth=1, hbmId=0, type=build.text["read"])
        build.add("OP_MEMORY", name=build.text["x"], size=1, allocationTime=NS, streamPtr=1, deviceId=0)
        build.add("NPU_MODULE_MEM", moduleId=3, timestampNs=NS, totalReserved=1, deviceId=0)
        for table, rows in build.rows.items():
            build.definitions[table] = TABLES[table].replace(" PRIMARY KEY", "").replace("INTEGER", "BLOB")
            for row in rows:
                for column in row:
                    if chance.random() < 0.15:
                        row[column] = chance.choice(odd)
        _survives(build.write(tmp_path / f"{number}.db").read_bytes(), tmp_path / f"odd{number}")


def _survives(content: bytes, folder: Path) -> None:
    path = folder / "ascend_pytorch_profiler_0.db"
    path.parent.mkdir()
    path.write_bytes(content)
    try:
        for source in claimed(path.parent):
            Read(source, folder / "out")
    except UnreadableInputError as error:
        assert error.message("zh")
    assert path.read_bytes() == content


def test_every_note_has_its_sentence_in_both_languages(run: Read) -> None:
    for note in run.notes:
        assert all(note.sentence(language) for language in LANGUAGES)


# Real captures


def _sample(rank: int) -> tuple[Source, sqlite3.Connection]:
    directory = SAMPLES / f"rank{rank}_ascend_pt"
    [source] = claimed(directory)
    path = directory / "ASCEND_PROFILER_OUTPUT" / f"ascend_pytorch_profiler_{rank}.db"
    return source, sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


@needs_samples
@pytest.mark.parametrize("rank", [0, 1])
def test_every_row_of_a_real_capture_is_in_a_table_or_in_a_note(tmp_path: Path, rank: int) -> None:
    source, connection = _sample(rank)
    read = Read(source, tmp_path)
    counts = {
        name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    }
    slices = read.table("slices").height
    assert slices == sum(counts.pop(name) for name in ("PYTORCH_API", "CANN_API", "TASK", "COMMUNICATION_OP"))
    assert read.slices(kind="kernel").height == counts["COMPUTE_TASK_INFO"]
    pmu = read.table("pmu").filter(~pl.col("metric").cast(pl.String).is_in(["Block Dim", "Mix Block Dim"]))
    assert pmu.height == counts.pop("TASK_PMU_INFO")
    assert read.table("pmu").height - pmu.height == 2 * counts.pop("COMPUTE_TASK_INFO")
    on_planes = read.table("tracks").filter(pl.col("name").str.starts_with("Plane"))["track"]
    parts = read.table("slices").filter(pl.col("track").is_in(on_planes.to_list()))
    assert parts.height == counts.pop("COMMUNICATION_TASK_INFO")
    signals = parts.filter(pl.col("name").cast(pl.String) == "Notify_Record").height
    assert read.table("transfers").height == parts.height - signals
    stated = connection.execute("SELECT count(*) FROM CONNECTION_IDS WHERE connectionId > 9000").fetchone()[0]
    links = dict(read.table("links").group_by("kind").len().select(pl.col("kind").cast(pl.String), "len").iter_rows())
    # Each connection of the framework itself joins two calls; each of CANN joins a call with its task.
    assert links["queue"] + links["forward_backward"] == stated // 2
    assert links["operator_launch"] == counts.pop("CONNECTION_IDS") - stated
    assert links["launch"] == 550 + 4
    chains = connection.execute("SELECT count(DISTINCT id) FROM PYTORCH_CALLCHAINS").fetchone()[0]
    own = read.table("slices").filter(pl.col("kind").cast(pl.String).is_in(["operator", "step"]))["stack"]
    assert own.len() - own.null_count() >= chains
    frames = read.table("stacks")["frames"].str.count_matches("\n").sum() + read.table("stacks").height
    deduplicated = connection.execute(
        "SELECT sum(n) FROM (SELECT DISTINCT n, g FROM (SELECT count(*) AS n, group_concat(stack) AS g"
        " FROM PYTORCH_CALLCHAINS GROUP BY id))"
    ).fetchone()[0]
    assert frames == deduplicated
    assert counts.pop("PYTORCH_CALLCHAINS") > 0
    process = connection.execute(
        "SELECT count(*) FROM NPU_MEM JOIN STRING_IDS ON id = type WHERE value = 'app'"
    ).fetchone()[0]
    assert read.table("memory").height == counts.pop("MEMORY_RECORD") + counts.pop("NPU_MODULE_MEM") + process
    assert read.table("allocations").height == counts.pop("OP_MEMORY")
    assert read.note("db_rows_repeat_table") == counts.pop("NPU_OP_MEM")
    addresses = read.table("allocations")["address"].drop_nulls().len()
    assert (
        addresses
        == connection.execute(
            "SELECT count(*) FROM NPU_OP_MEM JOIN STRING_IDS ON id = type WHERE value = 'allocate'"
        ).fetchone()[0]
    )
    per_row = {"HBM": 1, "LLC": 2, "ACC_PMU": 4, "SOC_BANDWIDTH_LEVEL": 2, "AICORE_FREQ": 1, "NPU_MEM": 2}
    assert read.table("counters").height == sum(counts.pop(name) * times for name, times in per_row.items())
    assert read.table("steps").height == counts.pop("STEP_TIME")
    assert read.table("ranks").height == 1
    for name in list(counts):
        if name.startswith("ENUM_") or name in ("STRING_IDS", "META_DATA", "SESSION_TIME_INFO", "HOST_INFO"):
            counts.pop(name)
    assert counts.pop("NPU_INFO") == counts.pop("RANK_DEVICE_MAP") == 1
    # What is left was put there by a viewer, and is counted.
    assert {name: read.note("db_table_foreign", table=name) for name in counts} == counts
    connection.close()


@needs_samples
@pytest.mark.parametrize("rank", [0, 1])
def test_the_vendors_step_split_follows_from_our_slices_exactly(tmp_path: Path, rank: int) -> None:
    source, connection = _sample(rank)
    connection.close()
    read = Read(source, tmp_path)
    vendor = dict(
        read.table("reported")
        .filter(pl.col("key").is_null())
        .select(pl.col("metric").cast(pl.String), "value")
        .iter_rows()
    )

    def union(kind: str) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for start, dur in sorted(read.slices(kind=kind).select("start_ns", "dur_ns").iter_rows()):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], start + dur)
            else:
                merged.append((start, start + dur))
        return merged

    computing, communication = union("kernel"), union("collective")
    both = sum(
        max(0, min(end, other_end) - max(start, other))
        for start, end in computing
        for other, other_end in communication
    )
    total, exposed = (sum(end - start for start, end in parts) for parts in (computing, communication))
    edges = [edge for part in (*computing, *communication) for edge in part]
    assert total == round(vendor["Computing"] * 1000)
    assert exposed == round(vendor["Communication"] * 1000)
    assert both == round(vendor["Overlapped"] * 1000)
    assert max(edges) - min(edges) == round(vendor["Stage"] * 1000)
    assert max(edges) - min(edges) - total - exposed + both == round(vendor["Free"] * 1000)
    step = read.table("steps").row(0, named=True)
    assert min(edges) - step["host_start_ns"] == round(vendor["Preparing"] * 1000)


@needs_samples
@pytest.mark.parametrize("rank", [0, 1])
def test_the_vendors_link_totals_follow_from_our_transfers(tmp_path: Path, rank: int) -> None:
    source, connection = _sample(rank)
    connection.close()
    read = Read(source, tmp_path)
    summary = sqlite3.connect(f"file:{source.files[1]}?mode=ro&immutable=1", uri=True)
    rows = summary.execute(
        "SELECT dst_rank, transit_size FROM CommAnalyzerMatrix WHERE hccl_op_name LIKE '%-total'"
    ).fetchall()
    summary.close()
    moved = read.table("transfers").filter(pl.col("kind").cast(pl.String).is_in(["payload", "reduce"]))
    # The vendor counts what has no other end as moved within the rank.
    ours = dict(moved.group_by(pl.col("peer").fill_null(rank)).agg(pl.col("bytes").sum()).iter_rows())
    assert {int(peer): round(size * 1e6) for peer, size in rows} == ours


@needs_samples
@pytest.mark.parametrize("rank", [0, 1])
def test_waits_name_the_rank_that_was_waited_for(tmp_path: Path, rank: int) -> None:
    source, connection = _sample(rank)
    expected = dict(
        connection.execute(
            "SELECT k.dstRank, sum(t.endNs - t.startNs) FROM COMMUNICATION_TASK_INFO k JOIN TASK t USING (globalTaskId)"
            " JOIN STRING_IDS s ON s.id = k.taskType WHERE s.value = 'Notify_Wait' GROUP BY 1"
        ).fetchall()
    )
    connection.close()
    waits = Read(source, tmp_path).table("transfers").filter(pl.col("kind").cast(pl.String) == "wait")
    ours = dict(waits.group_by("peer").agg(pl.col("time_ns").sum()).iter_rows())
    assert ours == expected
    assert max(ours, key=ours.__getitem__) == 6  # both wait for rank 6, whose own files are not there


@needs_samples
def test_real_times_are_those_of_the_file_to_the_nanosecond(tmp_path: Path) -> None:
    source, connection = _sample(0)
    read = Read(source, tmp_path)
    tasks = connection.execute("SELECT startNs, endNs - startNs FROM TASK").fetchall()
    calls = connection.execute(
        "SELECT CAST(startNs AS INTEGER), CAST(endNs AS INTEGER) - CAST(startNs AS INTEGER) FROM PYTORCH_API"
    ).fetchall()
    cann = connection.execute("SELECT startNs, endNs - startNs FROM CANN_API").fetchall()
    whole = connection.execute("SELECT startNs, endNs - startNs FROM COMMUNICATION_OP").fetchall()
    connection.close()
    ours = read.table("slices").select("start_ns", "dur_ns").rows()
    assert sorted(ours) == sorted([*tasks, *calls, *cann, *whole])


@needs_samples
def test_real_counters_match_the_database(tmp_path: Path) -> None:
    source, connection = _sample(0)
    read = Read(source, tmp_path)
    expected = connection.execute(
        "SELECT t.startNs, s.value, p.value FROM TASK_PMU_INFO p JOIN TASK t USING (globalTaskId)"
        " JOIN STRING_IDS s ON s.id = p.name WHERE s.value IN ('aic_mac_ratio', 'aiv_vec_time', 'aic_total_time')"
    ).fetchall()
    connection.close()
    names = {"aic_mac_ratio": ("aic_mac_ratio", 1), "aiv_vec_time": ("aiv_vec_time(us)", 1000)}
    names["aic_total_time"] = ("aicore_time(us)", 1000)
    ours = read.table("pmu").join(read.table("slices").select("slice", "start_ns"), on="slice")
    wanted = [name for name, _ in names.values()]
    ours = ours.with_columns(pl.col("metric").cast(pl.String)).filter(pl.col("metric").is_in(wanted))
    theirs = sorted((start, names[name][0], value / names[name][1]) for start, name, value in expected)
    found = sorted(ours.select("start_ns", "metric", "value").rows())
    assert [row[:2] for row in found] == [row[:2] for row in theirs]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in theirs], rel=1e-14)


@needs_samples
def test_reading_real_captures_leaves_them_untouched(tmp_path: Path) -> None:
    before = fingerprints(SAMPLES)
    for rank in (0, 1):
        source, connection = _sample(rank)
        connection.close()
        Read(source, tmp_path / str(rank))
    assert fingerprints(SAMPLES) == before
