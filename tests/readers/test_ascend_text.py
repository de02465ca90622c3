"""Text captures of Ascend: small ones made by hand, the shared two-rank capture, and broken ones."""

from __future__ import annotations

import collections
import csv
import decimal
import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readers.ascend_builder import (
    CALL,
    CALLS,
    CANN,
    COMMUNICATION,
    GROUP,
    HARDWARE,
    HOST_PID,
    INFO,
    KERNEL_HEADER,
    KERNELS,
    MAIN,
    WORKER,
    Tables,
    arrow,
    capture_events,
    claimed,
    device_layers,
    full_capture,
    host_layers,
    named,
    plane_task,
    process,
    read_directory,
    span,
    task,
    write_rank,
)
from stepscope import facts
from stepscope.errors import UnreadableInputError
from stepscope.readers import ascend_text
from stepscope.readers.ascend import csv_table, device_tasks, identity, rank_directory
from stepscope.readers.files import raw_bytes
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter
from stepscope.store.schema import SLICE_KINDS
from stepscope.texts import catalogue

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "ascend" / "text_level1"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="needs the shared captures")


def read(tmp_path: Path, files: dict[str, Any], **more: Any) -> Tables:
    return read_directory(write_rank(tmp_path, files, **more), tmp_path / "store")


def nanoseconds(microseconds: Any) -> int:
    exact = decimal.Decimal(str(microseconds)) * 1000
    return int(exact.to_integral_value(decimal.ROUND_HALF_EVEN))


# --- a small capture, every value told by hand -----------------------------------------------------------


def test_every_slice_has_the_kind_of_its_layer_and_task(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    assert dict(found["slices"].select("name", pl.col("kind").cast(pl.String)).unique().rows()) == {
        "ProfilerStep#7": "step",
        "aten::mm": "operator",
        "nn.Module: Net_0": "module",
        "Enqueue": "runtime",
        "Dequeue@mm": "runtime",
        "AscendCL@aclnnMm": "runtime",
        "Node@launch": "runtime",
        "MatMul": "kernel",
        "Cast": "kernel",
        "MEMCPY_ASYNC": "copy",
        "EVENT_WAIT": "wait",
        "hcom_allReduce__586_3_1": "collective",
        "Notify_Wait": "wait",
        "Memcpy": "comm_task",
        "Notify_Record": "comm_task",
        "Reduce_Inline": "comm_task",
        "Notify Wait": "reported",
        "SDMA": "reported",
        "Write Value": "reported",
        "Computing": "reported",
    }
    assert found.count("ascend_task_shown_twice") == 3


def test_times_are_exact_and_durations_rounded_to_the_nearest_nanosecond(tmp_path: Path) -> None:
    events = [
        task("1736408883732241.564", 79089.52021875, "a", "AI_CORE", 1),
        task("1736408883732243", 0.60050000000000001, "b", "AI_CORE", 2),
        task("1736408883732244.5", 53, "c", "AI_CORE", 3),
    ]
    found = read(tmp_path, {"trace_view.json": events})
    assert sorted(found.rows("slices", "start_ns", "dur_ns")) == [
        (1736408883732241564, 79089520),
        (1736408883732243000, 600),  # 600.5 is a tie, and 600 is even
        (1736408883732244500, 53000),
    ]


def test_arrows_join_the_innermost_slices_that_hold_their_ends(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    name = dict(found.rows("slices", "slice", "name"))
    links = {
        (kind, name[start], name[end]) for kind, start, end in found.rows("links", "kind", "from_slice", "to_slice")
    }
    assert links == {
        ("queue", "Enqueue", "Dequeue@mm"),
        ("launch", "Node@launch", "MatMul"),
        ("launch", "Node@launch", "Cast"),
        ("operator_launch", "aten::mm", "MatMul"),
    }


def test_a_device_slice_knows_operator_module_stack_and_step(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    for name in ("MatMul", "Cast"):  # the second one has no arrow from the framework, only from its launch
        slice_ = found.slice(name)
        assert (slice_["operator"], slice_["module"], slice_["step"]) == ("aten::mm", "Net_0", 7)
        assert slice_["phase"] == "forward"
    [stack] = found.rows("stacks", "stack", "frames")
    assert stack == (found.slice("MatMul")["stack"], "a.py(1): f\nb.py(2): g")
    assert found.slice("Node@launch")["operator"] == "aten::mm"
    operator = found.slice("aten::mm")
    assert (operator["input_shapes"], operator["dtypes"]) == ("2,3;3,4", "float;float")


def test_the_device_window_of_a_step_reaches_from_its_first_launch_to_its_mark_or_last_launch(tmp_path: Path) -> None:
    later = [
        span(HOST_PID, MAIN, "1900.000", 100, "ProfilerStep#8", {}, "cpu_op"),
        span(HOST_PID, MAIN, "1910.000", 10, "aten::add", {}, "cpu_op"),
        task("2400.000", 50, "Add", "AI_CORE", 9),
        task("2460.000", 5, "unlaunched", "AI_CORE", 10),
        arrow("s", "async_npu", 2400000, HOST_PID, MAIN, "1910.000"),
        arrow("f", "async_npu", 2400000, HARDWARE, 2, "2400.000"),
    ]
    found = read(tmp_path, {"trace_view.json": capture_events() + later})
    assert found.rows("steps", "step", "host_start_ns", "host_end_ns", "device_start_ns", "device_end_ns") == [
        (7, 1000000, 1900000, 1200001, 1900000),
        (8, 1900000, 2000000, 2400000, 2450000),
    ]
    assert found.slice("Add")["step"] == 8
    assert found.slice("unlaunched")["step"] is None
    assert found["steps"]["marks_from"].to_list() == ["profiler_step"] * 2


def test_a_timeline_without_marks_is_one_step(tmp_path: Path) -> None:
    found = read(tmp_path, {"trace_view.json": device_layers()})
    assert found.rows("steps", "marks_from", "host_start_ns") == [("window", 1200001)]
    assert found.count("no_step_marks") == 1


def test_level_0_launches_bind_to_the_framework_slice_of_the_same_thread(tmp_path: Path) -> None:
    # The calls of CANN are points without slices, of a process that has no name.
    found = read(tmp_path, {"trace_view.json": host_layers() + device_layers()})
    name = dict(found.rows("slices", "slice", "name"))
    launches = [
        (name[start], name[end])
        for kind, start, end in found.rows("links", "kind", "from_slice", "to_slice")
        if kind == "launch"
    ]
    assert sorted(launches) == [("Dequeue@mm", "Cast"), ("Dequeue@mm", "MatMul")]
    assert found.slice("Cast")["operator"] == "aten::mm"
    assert not found.count("flow_unbound")


def test_arrows_that_end_nowhere_are_counted(tmp_path: Path) -> None:
    lost = [
        arrow("s", "HostToDevice", "77", CANN, WORKER, "5.000"),
        arrow("f", "fwdbwd", 3, HOST_PID, MAIN, "1101.000"),
    ]
    found = read(tmp_path, {"trace_view.json": capture_events() + lost})
    assert found.count("flow_unbound") == 1
    assert found.count("flow_without_start") == 1


def test_counters_are_split_by_argument_and_accelerator(tmp_path: Path) -> None:
    pid = process(21)
    samples = [
        ("read_ost", {"value": 1, "acc_id": 0}),
        ("read_ost", {"value": 2, "acc_id": 1}),
        ("HBM 0/Read", {"Read(MB/s)": 5.5}),
        ("AI Core Freq", {"MHz": 1800}),
        ("QoS OTHERS", {"value": "7"}),
        ("both", {"a": 1, "b": 2}),
        ("nothing", {"text": "x"}),
        ("bare", None),
    ]
    events = [
        {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": f"10.00{place}", "args": args}
        for place, (name, args) in enumerate(samples)
    ]
    found = read(tmp_path, {"trace_view.json": capture_events() + named(pid, "Acc PMU", {}) + events})
    title = dict(found.rows("tracks", "track", "name"))
    assert {
        (title[track], time, value) for track, time, value in found.rows("counters", "track", "time_ns", "value")
    } == {
        ("read_ost, accelerator 0", 10000, 1.0),
        ("read_ost, accelerator 1", 10001, 2.0),
        ("HBM 0/Read(MB/s)", 10002, 5.5),
        ("AI Core Freq (MHz)", 10003, 1800.0),
        ("QoS OTHERS", 10004, 7.0),
        ("both (a)", 10005, 1.0),
        ("both (b)", 10005, 2.0),
    }
    assert found.count("ascend_counter_empty") == 2
    assert set(found["tracks"].filter(pl.col("process").str.contains("Acc PMU"))["kind"]) == {"counter"}


def test_mindspore_layers(tmp_path: Path) -> None:
    events = [
        *named(1, "MindSpore", {5: "Thread 5"}, 1),
        *named(2, "CPU OP", {0: "Thread 0"}, 2),
        *named(3, "Scope Layer", {0: "0"}, 12),
        *named(HARDWARE, "Ascend Hardware", {2: "Stream 2"}, 13),
        span(1, 5, "0.000", "1000.000", "Python::PythonObserved::ProfilerStep#3", {}, ""),
        span(1, 5, "10.000", "20.000", "PynativeFramework::PyNativeFrontendTask::Add", {}, ""),
        span(1, 5, "12.000", "3.000", "train.py(3): f", {}, "python_function"),
        span(1, 5, "40.000", "5.000", "WaitPipeline", {}, ""),
        {"ph": "i", "name": "point", "pid": 1, "tid": 5, "ts": "50.000"},
        span(2, 0, "60.000", "5.000", "Default/network/Add-op1", {"type": "HostCpuOps"}),
        span(3, 0, "60.000", "5.000", "Default"),
        task("70.000", 5, "Add", "AI_CORE", 1, mindspore_op="Default/Add-op2"),
        arrow("s", "async_npu", "70.000", 1, 5, "10.000"),
        arrow("f", "async_npu", "70.000", HARDWARE, 2, "70.000"),
        arrow("s", "async_mindspore", 4, 1, 5, "10.000"),
        arrow("f", "async_mindspore", 4, 1, 5, "40.000"),
    ]
    info = {
        "ms_profiler_info": {"rank_id": "6", "device_id": "2"},
        "ms_version": "2.6.0",
        "profiler_parameters": {"profiler_level": "Level0"},
    }
    found = read(
        tmp_path,
        {"../profiler_info_6.json": info, "../profiler_info_0.json": {}, "trace_view.json": events},
        name="a_1_20250109123456789_ascend_ms",
    )
    kinds = dict(found["slices"].select("name", pl.col("kind").cast(pl.String)).rows())
    assert kinds == {
        "Python::PythonObserved::ProfilerStep#3": "step",
        "PynativeFramework::PyNativeFrontendTask::Add": "operator",
        "train.py(3): f": "python",
        "WaitPipeline": "annotation",
        "point": "mark",
        "Default/network/Add-op1": "operator",
        "Default": "reported",
        "Add": "kernel",
    }
    assert found.slice("Default/network/Add-op1")["core"] == "HOST_CPU"
    assert found.slice("Add")["operator"] == "Default/Add-op2"
    assert found.slice("Add")["step"] == 3
    assert sorted(kind for (kind,) in found.rows("links", "kind")) == ["operator_launch", "queue"]
    [rank] = found["ranks"].rows(named=True)
    assert (rank["rank"], rank["framework"], rank["level"], rank["device_index"]) == (6, "mindspore", "Level0", 2)


def test_tasks_of_unknown_type_compute_only_if_the_kernel_table_has_them(tmp_path: Path) -> None:
    events = [task("1.000", 2, "MatMul", "QUANTUM", 1), task("5.000", 2, "odd", "QUANTUM", 2)]
    rows = KERNEL_HEADER + "7,1,1,2,MatMul,MatMulV2,,N/A,1.000\t,2,0,1" + "," * 9 + "\r\n"
    found = read(
        tmp_path,
        {"trace_view.json": named(HARDWARE, "Ascend Hardware", {2: "Stream 2"}) + events, "kernel_details.csv": rows},
    )
    assert found.slice("MatMul")["kind"] == "kernel"
    assert found.slice("odd")["kind"] == "sync"
    assert found.count("ascend_task_type_unknown", type="QUANTUM", kind="kernel") == 1
    assert found.count("ascend_task_type_unknown", type="QUANTUM", kind="sync") == 1


def test_layers_are_told_by_arguments_where_a_cut_file_lacks_the_names(tmp_path: Path) -> None:
    events = [event for event in capture_events() if event["ph"] != "M"]
    found = read(tmp_path, {"trace_view.json": events})
    assert found.slice("MatMul")["kind"] == "kernel"
    assert found.slice("Node@launch")["kind"] == "runtime"
    assert found.slice("hcom_allReduce__586_3_1")["kind"] == "collective"
    assert found.slice("aten::mm")["kind"] == "operator"


# --- kernels ----------------------------------------------------------------------------------------------


def test_kernel_rows_fill_the_slices_and_their_counters(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    kernel = found.slice("MatMul")
    assert (kernel["type"], kernel["core"]) == ("MatMulV2", "AI_CORE")
    assert (kernel["input_shapes"], kernel["output_shapes"]) == ("2,3;3,4", "2,4")
    assert (kernel["dtypes"], kernel["formats"]) == ("FLOAT;FLOAT", "ND;ND->ND")
    metrics = dict(found["pmu"].filter(pl.col("slice") == kernel["slice"]).select("metric", "value").rows())
    assert metrics == {
        "OP State: dynamic": 1.0,
        "Wait Time(us)": 0.0,
        "Block Dim": 24.0,
        "aicore_time(us)": 18.5,
        "aic_mac_ratio": 0.75,
    }
    # The vendor cut the start of the call off by a nanosecond.
    assert found.slice("hcom_allReduce__586_3_1")["core"] == "HCCL"
    assert not found.count("ascend_kernel_unmatched")


def test_kernel_rows_without_their_slice_are_counted(tmp_path: Path) -> None:
    files = full_capture() | {
        "kernel_details.csv": KERNELS + "7,1,99,2,Ghost,Add,,AI_CORE,9000.0\t,1,0,1" + "," * 9 + "\r\n"
    }
    assert read(tmp_path, files).count("ascend_kernel_unmatched") == 1


def test_kernel_rows_with_a_framework_name_before_theirs_match_by_stream_and_task(tmp_path: Path) -> None:
    files = full_capture() | {"kernel_details.csv": KERNELS.replace(",MatMul,", ",Default/net/MatMul-op1/MatMul,")}
    found = read(tmp_path, files)
    assert found.slice("MatMul")["type"] == "MatMulV2"
    assert not found.count("ascend_kernel_unmatched")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Step Id", "Step ID"),
        ("Block Dim", "Block Num"),
        ("Step Id,Model ID", "Step Id,Device_id,Model ID"),
        ("Duration(us)", "Duration(us),Added Later"),
        ("\r\n", "\n"),
    ],
)
def test_headers_of_all_versions_are_understood(tmp_path: Path, old: str, new: str) -> None:
    text = KERNELS
    if new.startswith("Step Id,"):
        text = text.replace("\r\n7,", "\r\n7,0,")
    if "Added" in new:
        text = re.sub(r"(\.\d+\t,[\d.]+),", r"\1,5,", text)
    found = read(tmp_path, full_capture() | {"kernel_details.csv": "\ufeff" + text.replace(old, new)})
    assert (found.slice("MatMul")["type"], found.slice("MatMul")["dur_ns"]) == ("MatMulV2", 20000)
    metrics = dict(
        found["pmu"].filter(pl.col("slice") == found.slice("MatMul")["slice"]).select("metric", "value").rows()
    )
    assert metrics["Block Dim"] == 24.0
    assert ("Added Later" in metrics) == ("Added" in new)


def test_level_0_kernels_have_no_type(tmp_path: Path) -> None:
    rows = (
        "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\r\n"
        "7,MatMul,N/A,N/A,1200.001\t,20.001,0,0\r\n"
    )
    found = read(tmp_path, {"trace_view.json": capture_events(), "kernel_details.csv": rows})
    kernel = found.slice("MatMul")
    assert (kernel["type"], kernel["core"], kernel["kind"]) == (None, "AI_CORE", "kernel")


def test_without_a_timeline_the_kernels_make_one(tmp_path: Path) -> None:
    found = read(tmp_path, {"kernel_details.csv": KERNELS, "communication.json": CALLS})
    assert found.rows("slices", "name", "start_ns", "dur_ns") == [
        ("MatMul", 1200001, 20001),
        ("Cast", 1225000, 10002),
        ("hcom_allReduce__586_3_1", 1299999, 100000),
    ]
    assert [str(kind) for (kind,) in found.rows("slices", "kind")] == ["kernel", "kernel", "collective"]
    assert found.rows("collectives", "name", "transit_ns") == [("hcom_allReduce__586_3_1", 80000)]
    assert found.count("ascend_timeline_from_kernels") == 3
    assert found.count("ascend_file_missing", switch="activities=[ProfilerActivity.NPU]") == 2


def test_l2_cache_and_ai_cpu_times_join_by_stream_and_task(tmp_path: Path) -> None:
    cache = "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,0.25,MatMul\n2,2,0.5,0.75,Cast\n2,77,1,1,Ghost\n"
    cpu = "Device_id,Timestamp(us),Node,Compute_time(us),Total_time(us),Stream ID,Task ID\n0,1225.0,Cast,3.5,4,2,2\n"
    found = read(tmp_path, full_capture() | {"l2_cache.csv": cache, "data_preprocess.csv": cpu})
    values = {
        (name, metric): value
        for name, metric, value in found["pmu"]
        .join(found["slices"].select("slice", "name"), on="slice")
        .select("name", "metric", "value")
        .rows()
    }
    assert values["MatMul", "L2 Victim Rate"] == 0.25
    assert (values["Cast", "L2 Hit Rate"], values["Cast", "L2 Victim Rate"]) == (0.5, 0.75)
    assert (values["Cast", "AI CPU Compute_time(us)"], values["Cast", "AI CPU Total_time(us)"]) == (3.5, 4.0)
    assert ("MatMul", "L2 Hit Rate") not in values
    assert found.count("ascend_task_unmatched") == 1


# --- communication ----------------------------------------------------------------------------------------


def test_a_call_carries_the_vendors_times_its_size_and_its_group(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    [call] = found["collectives"].rows(named=True)
    assert (call["group"], call["seq"], call["kind"], call["step"]) == (GROUP, 3, "all_reduce", 7)
    assert (call["bytes"], call["dtype"], call["algorithm"], call["stream"]) == (4000, "FP32", "MESH-RING", 4)
    assert (call["transit_ns"], call["wait_ns"], call["idle_ns"], call["reduce_ns"]) == (80000, 10000, 10000, None)
    assert call["sync_ns"] == 10000  # 9999.5 is a tie, and 10000 is even
    assert (call["start_ns"], call["end_ns"]) == (1300000, 1400000)
    assert found.slice("hcom_allReduce__586_3_1")["bytes"] == 4000
    assert found.rows("groups", "group", "ranks") == [(GROUP, None)]


def test_transfers_say_what_moved_to_whom_and_who_was_waited_for(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    assert found.rows("transfers", "kind", "peer", "plane", "transport", "bytes", "time_ns", "call") == [
        ("wait", 5, 0, "LOCAL", 0, 10000, "hcom_allReduce__586_3_1"),
        ("payload", 1, 0, "HCCS", 4096, 30000, "hcom_allReduce__586_3_1"),
        ("reduce", 2, 1, "HCCS", 4096, 50000, "hcom_allReduce__586_3_1"),
        ("payload", None, 1, "LOCAL", 8, 2000, "hcom_allReduce__586_3_1"),
    ]
    assert set(found["transfers"]["group"]) == {GROUP}


def test_peers_are_mapped_through_the_members_of_their_group(tmp_path: Path) -> None:
    name = "10.0.0.1%eth0_60000_0_1736410538306028"
    group = identity.group_id(name)
    metadata = {
        "parallel_group_info": {name: {"group_name": "tp", "group_rank": 0, "global_ranks": [8, 9, 10, 11, 12, 13]}}
    }
    calls = {"step7": {"collective": {f"hcom_allReduce__586_3_1@{group}": CALL}, "p2p": {}}}
    found = read(tmp_path, full_capture() | {"../profiler_metadata.json": metadata, "communication.json": calls})
    assert [peer for (peer,) in found.rows("transfers", "peer")] == [13, 9, 10, None]
    [row] = found["groups"].rows(named=True)
    assert (row["group"], row["name"], row["dimension"], row["ranks"]) == (group, "tp", "tp", [8, 9, 10, 11, 12, 13])
    assert found["ranks"]["tp"].to_list() == [0]


def test_peers_of_unknown_groups_are_left_out_unless_our_own_place_is_our_rank(tmp_path: Path) -> None:
    files = full_capture() | {"../profiler_info_0.json": INFO | {"rank_id": 4}}
    found = read(tmp_path, files)
    assert found["transfers"]["peer"].null_count() == 4
    assert found.count("ascend_peer_unmapped") == 3


def test_two_groups_keep_their_planes_apart(tmp_path: Path) -> None:
    call = {"connection_id": 13, "data_type": "FP16", "alg_type": "RING", "count": 10}
    second = [
        *named(COMMUNICATION, "HCCL", {3: "Group 1 Communication", 4: "Plane 0"}, 15),
        span(COMMUNICATION, 3, "1300.000", 100, "hcom_send__123_0_1", call),
        plane_task("1320.000", 20, "Memcpy", 3, 9, 1, **{"size(Byte)": 20, "link type": "ROCE"}),
    ]
    found = read(tmp_path, {"trace_view.json": capture_events() + second})
    calls = {row["name"]: row for row in found["collectives"].rows(named=True)}
    assert (calls["hcom_send__123_0_1"]["kind"], calls["hcom_send__123_0_1"]["peer"]) == ("send", 1)
    assert calls["hcom_send__123_0_1"]["bytes"] == 20
    [sent] = [row for row in found["transfers"].rows(named=True) if row["call"] == "hcom_send__123_0_1"]
    assert (sent["transport"], sent["bytes"], sent["plane"]) == ("RDMA", 20, 0)
    assert sent["group"] == "123"  # all that the name tells without communication.json


def test_the_vendors_summaries_are_kept_as_they_are(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture())
    key = f"hcom_allReduce__586_3_1@{GROUP}"
    values = {(row["file"], row["key"], row["metric"]): row["value"] for row in found["reported"].rows(named=True)}
    assert values["communication.json", key, "Elapse Time(ms)"] == 0.1
    assert values["communication.json", key, "HCCS 0.004096 MB packets"] == 2
    assert values["communication.json", key, "HCCS 0.004096 MB packets time(ms)"] == 0.08
    assert not any(metric.startswith("RDMA") for _, _, metric in values)
    assert values["communication_matrix.json", f"allreduce-total@{GROUP}", "0-1 Transit Size(MB)"] == 0.004096
    assert set(found["reported"]["step"]) == {7}


def test_the_matrix_gives_transfers_only_where_no_planes_were_recorded(tmp_path: Path) -> None:
    bare = [event for event in capture_events() if event.get("pid") != COMMUNICATION]
    found = read(tmp_path, full_capture() | {"trace_view.json": bare})
    assert found.rows("transfers", "kind", "peer", "transport", "bytes", "time_ns", "call") == [
        ("payload", 1, "HCCS", 4096, 30000, "allreduce-total")
    ]


def test_calls_that_are_not_on_the_timeline_are_counted(tmp_path: Path) -> None:
    calls = {
        "step": {"collective": {**CALLS["step7"]["collective"], f"hcom_allReduce__586_9_1@{GROUP}": CALL}, "p2p": {}}
    }
    found = read(tmp_path, full_capture() | {"communication.json": calls})
    assert found.count("ascend_call_not_on_timeline") == 1
    assert set(found["reported"].filter(pl.col("file") == "communication.json")["step"]) == {None}


# --- memory and summaries ---------------------------------------------------------------------------------


def test_memory_tables_become_bytes_and_nanoseconds(tmp_path: Path) -> None:
    record = (
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\r\n"
        "PTA,1736408883688177.930\t,1.5,2.0,1.75,11,NPU:3\r\n"
        "APP,1736408883688178.000\t,,2109.6015625,,,NPU:3\r\n"
        "PTA,1.69512E+15,1,1,1,11,NPU:3\r\n"
    )
    modules = (
        "Device_id,Component,Timestamp(us),Total Reserved(KB),Device\n"
        "3,HCCL,5.000\t,1024.0,NPU:3\n3,ODD,5.000\t,18014398509481983,NPU:3\n"
    )
    found = read(
        tmp_path, {"trace_view.json": capture_events(), "memory_record.csv": record, "npu_module_mem.csv": modules}
    )
    assert found.rows("memory", "device", "component", "time_ns", "allocated", "reserved", "active") == [
        ("npu:3", "PTA", 1736408883688177930, 1572864, 2097152, 1835008),
        ("npu:3", "APP", 1736408883688178000, None, 2212077568, None),
        ("npu:3", "module HCCL", 5000, None, 1048576, None),
    ]
    assert found.count("ascend_time_damaged") == 1
    assert found.count("ascend_sample_incomplete") == 1
    assert found.count("ascend_module_unsupported") == 1
    assert found.count("ascend_columns_unused", columns="Stream Ptr") == 2


def test_blocks_of_memory_have_their_life(tmp_path: Path) -> None:
    header = (
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
        "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),"
        "Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n"
    )
    rows = (
        "aten::mm,0.5,10.000\t,20.000\t,25.000\t,10\t,15\t,1,1,1,1,1,1,77,NPU:0\r\n"
        "aten::add,2,11.000\t,,,,,1,1,1,,,,77,NPU:0\r\n"
        ",-4,,30.000\t,31.000\t,,,,,,1,1,1,77,NPU:0\r\n"
        "cann::X,1,12.000\t,13.000\t,,1\t,,1,1,,1,1,,,NPU:0\r\n"
        "aten::bad,x,,,,,,,,,,,,77,NPU:0\r\n"
    )
    found = read(tmp_path, {"trace_view.json": capture_events(), "operator_memory.csv": header + rows})
    columns = ("operator", "bytes", "alloc_ns", "free_ns", "before_window", "pool", "stream", "alloc_seq")
    assert found.rows("allocations", *columns) == [
        ("aten::mm", 512, 10000, 20000, False, "PTA", 77, 0),
        ("aten::add", 2048, 11000, None, False, "PTA", 77, 1),
        (None, 4096, None, 30000, True, "PTA", 77, 2),
        ("cann::X", 1024, 12000, 13000, False, "GE", None, 3),
    ]
    assert found.count("ascend_block_incomplete") == 1
    assert found.count("ascend_cell_unreadable", column="Size(KB)") == 1


def test_summaries_go_to_reported_by_row_and_column(tmp_path: Path) -> None:
    files = {
        "trace_view.json": capture_events(),
        "step_trace_time.csv": "Device_id,Step,Computing,Free\r\n0,7,8873.756,25.5\r\n",
        "op_statistic.csv": "Device_id,OP Type,Core Type,Count,Ratio(%)\n0,Add,AI_CORE,3,22.077\n",
        "api_statistic.csv": "Level,API Name,Time(us),Count\nhccl,Launch_Ffts,474.41,4\n",
        "operator_details.csv": DETAILS + "add,,,2.25\n",
        "static_op_mem.csv": (
            "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)\nhost,a,,1,0,4294967295,8\n"
        ),
        "hccs.csv": "Device_id,Mode,Max,Min,Average\n0,txThroughput(MB/s),3,1,2\n",
    }
    found = read(tmp_path, files)
    rows = {
        (row["file"], row["step"], row["key"], row["metric"]): row["value"]
        for row in found["reported"].rows(named=True)
    }
    assert rows == {
        ("step_trace_time.csv", 7, None, "Computing"): 8873.756,
        ("step_trace_time.csv", 7, None, "Free"): 25.5,
        ("op_statistic.csv", None, "Add@AI_CORE", "Count"): 3,
        ("op_statistic.csv", None, "Add@AI_CORE", "Ratio(%)"): 22.077,
        ("api_statistic.csv", None, "hccl@Launch_Ffts", "Time(us)"): 474.41,
        ("api_statistic.csv", None, "hccl@Launch_Ffts", "Count"): 4,
        ("operator_details.csv", None, "add", "Count"): 2,
        ("operator_details.csv", None, "add", "Host Self Duration(us)"): 3.75,
        ("static_op_mem.csv", None, "a@1", "Node Index Start"): 0,
        ("static_op_mem.csv", None, "a@1", "Node Index End"): 4294967295,
        ("static_op_mem.csv", None, "a@1", "Size(KB)"): 8,
        ("hccs.csv", None, "txThroughput(MB/s)", "Max"): 3,
        ("hccs.csv", None, "txThroughput(MB/s)", "Min"): 1,
        ("hccs.csv", None, "txThroughput(MB/s)", "Average"): 2,
    }


def test_interconnect_tables_with_times_become_counters(tmp_path: Path) -> None:
    nic = "Device_id,Timestamp(us),Bandwidth(MB/s),rxPacket/s,funcId\n0,10.5,100,N/A,0\n0,20.5,200,7,1\n"
    found = read(tmp_path, {"trace_view.json": capture_events(), "nic.csv": nic})
    title = {number: (process, name) for number, process, name in found.rows("tracks", "track", "process", "name")}
    assert {
        (title[track], time, value) for track, time, value in found.rows("counters", "track", "time_ns", "value")
    } == {
        (("nic", "0 Bandwidth(MB/s)"), 10500, 100.0),
        (("nic", "1 Bandwidth(MB/s)"), 20500, 200.0),
        (("nic", "1 rxPacket/s"), 20500, 7.0),
    }


def test_mindspores_pipeline_files_are_read_too(tmp_path: Path) -> None:
    raw = (
        "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
        "output_queue_usage_rate,sample_interval,parent_id,children_id\n"
        '0,DeviceQueue,1,,,,0,10,,[1]\n1,Batch,4,"[1, 2]",1.5,64,0.02,10,0,\n'
    )
    summary = {
        "pipeline_ops": ["DeviceQueue(id=0)", "Batch(id=1)"],
        "op_ids": [0, 1],
        "queue_utilization_pct": [-1, 50.0],
        "per_batch_time": [3.5],
    }
    files = {
        "trace_view.json": capture_events(),
        "minddata_pipeline_raw_0.csv": raw,
        "minddata_pipeline_summary_0.json": summary,
    }
    found = read(tmp_path, files, name="a_1_20250109123456789_ascend_ms")
    assert found.rows("pipeline_ops", "op", "kind", "parent", "workers", "capacity") == [
        (0, "DeviceQueue", None, 1, None),
        (1, "Batch", 0, 4, 64),
    ]
    assert [queue for (queue,) in found.rows("pipeline_samples", "queue")] == [1, 2]
    assert found["reported"].filter(pl.col("metric") == "per_batch_time")["value"].to_list() == [3.5]
    tracks = found["tracks"]["track"]
    assert tracks.n_unique() == len(tracks)


def test_parallel_strategy_states_stage_and_groups(tmp_path: Path) -> None:
    node = {
        "name": "1",
        "attribute": [
            {"name": "group", "value": {"strVal": "hccl_world_group"}},
            {"name": "group_ranks", "value": {"strVal": "0-1-2"}},
        ],
    }
    strategy = {"config": {"rankId": 0, "stageId": 2}, "graph": {"node": [node, {"name": "2"}]}}
    found = read(tmp_path, {"trace_view.json": capture_events(), "../parallel_strategy_0.json": strategy})
    assert found["ranks"]["pp"].to_list() == [2]
    assert found.rows("groups", "name", "ranks", "origin") == [("hccl_world_group", [0, 1, 2], "parallel_strategy")]
    assert found.count("ascend_graph_left_out") == 2


# --- identity ---------------------------------------------------------------------------------------------


def test_coordinates_follow_megatrons_order_of_ranks() -> None:
    sizes = {
        "tensor_model_parallel_size": 2,
        "pipeline_model_parallel_size": 2,
        "data_parallel_size": 3,
        "world_size": 12,
    }
    for rank in range(12):
        columns = identity.rank_columns({"rank_id": rank}, {"distributed_args": sizes})
        assert columns["world_size"] == 12
        assert columns["tp"] + 2 * (columns["dp"] + 3 * columns["pp"]) == rank
        assert (columns["cp"], columns["ep"]) == (0, None)


def test_identity_survives_nonsense() -> None:
    nonsense: list[Any] = [None, 1, "x", [], [1], {"a": []}]
    for value in nonsense:
        info = {
            "config": value,
            "rank_id": value,
            "ms_profiler_info": value,
            "profiler_parameters": value,
            "end_info": value,
        }
        metadata = {"distributed_args": value, "parallel_group_info": value, "ENV_VARIABLES": value}
        identity.rank_columns(info, metadata)
        identity.parallel_groups(metadata)
        identity.clock_offset_ns(info)


def test_unix_time_is_the_monotonic_clock_plus_an_offset() -> None:
    end = {"collectionTimeEnd": 1736408884023552840, "MonotonicTimeEnd": 172164265133640}
    assert identity.clock_offset_ns({"end_info": end}) == 1736236719758419200


def test_every_task_type_of_the_table_has_a_known_kind() -> None:
    table = facts.table("ascend")
    for name in ("task_kinds", "plane_kinds"):
        assert set(table[name].values()) <= set(SLICE_KINDS)
        assert all(device_tasks.normalised(word) == word for word in table[name])
    assert set(table["transfer_kinds"].values()) == {"payload", "reduce", "wait"}


# --- which directories are captures -----------------------------------------------------------------------


def test_a_rank_directory_tells_rank_worker_and_time(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, full_capture())
    [source] = claimed(directory) or []
    assert (source.reader, source.rank, source.worker, source.span) == ("ascend_text", 0, "host_77", 20250109123456789)
    assert (source.form, source.completeness, source.path) == ("text", 4, directory)
    assert {file.name for file in source.files} == {*full_capture(), "profiler_info_0.json"}


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3_start5_stop8/host_1_20250109123456789_ascend_ms", 3),
        ("node/rank12_ascend_pt", 12),
        ("anything", None),
    ],
)
def test_ranks_come_from_names_where_no_file_states_them(tmp_path: Path, name: str, rank: int | None) -> None:
    directory = write_rank(tmp_path, {"trace_view.json": capture_events()}, name=name)
    (directory / "profiler_info_0.json").unlink()
    [source] = claimed(directory) or []
    assert source.rank == rank
    assert rank_directory.dynamic_steps(directory) == ((5, 8) if "start5" in name else None)


def test_a_rank_with_databases_only_is_not_claimed(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, {"ascend_pytorch_profiler_0.db": b"SQLite format 3\0", "analysis.db": b""})
    assert claimed(directory) is None


def test_text_beside_databases_is_claimed_as_text(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, full_capture() | {"ascend_pytorch_profiler_0.db": b"SQLite format 3\0"})
    [source] = claimed(directory) or []
    assert source.form == "text"
    assert not any(file.suffix == ".db" for file in source.files)


def test_a_mindspore_run_without_device_is_left_to_its_own_reader(tmp_path: Path) -> None:
    files = {"trace_view.json": capture_events(), "../FRAMEWORK/cpu_op_execute_timestamp_0.txt": "a;HostCpuOps;1,2,3\n"}
    assert claimed(write_rank(tmp_path, files, name="a_1_20250109123456789_ascend_ms")) is None


def test_a_mindinsight_directory_is_not_claimed(tmp_path: Path) -> None:
    for name in (
        "profiler_info_0.json",
        "minddata_pipeline_raw_0.csv",
        "parallel_strategy_0.json",
        "aicore_intermediate_0_type.csv",
    ):
        (tmp_path / name).write_text("{}")
    assert claimed(tmp_path) is None


def test_msprof_output_is_read_with_its_slices_in_order(tmp_path: Path) -> None:
    directory = tmp_path / "PROF_000001_20250109123456789_ABCDEF"
    output = directory / "mindstudio_profiler_output"
    output.mkdir(parents=True)
    (directory / "device_0").mkdir()
    (directory / "device_0" / "info.json.0").write_text(json.dumps({"rank_id": 5, "DeviceInfo": [{"ai_core_num": 24}]}))
    events = capture_events()
    (output / "msprof_slice_0_20250109123500.json").write_text(json.dumps(events[:20]))
    (output / "msprof_slice_1_20250109123501.json").write_text(json.dumps(events[20:]))
    (output / "msprof_20240101000000.json").write_text("[]")
    header, *rows = KERNELS.replace("Step Id,", "Device_id,").splitlines(keepends=True)
    header = header.replace(",Name,Type,", ",Op Name,OP Type,").replace("Accelerator Core", "Task Type")
    header = (
        header.replace("Start Time", "Task Start Time")
        .replace("Duration", "Task Duration")
        .replace("Wait Time", "Task Wait Time")
    )
    for place, row in enumerate(rows):
        (output / f"op_summary_slice_{place}_20250109123500.csv").write_text(header + row, newline="")
    (output / "task_time_20250109123500.csv").write_text("Device_id,kernel_name\n0,x\n")
    [source] = claimed(directory) or []
    assert (source.rank, source.span) == (5, 20250109123456789)
    found = Tables(source, tmp_path / "store")
    assert found["slices"].height == sum(event["ph"] == "X" for event in events)
    assert found["slices"]["slice"].n_unique() == found["slices"].height
    assert found.slice("MatMul")["type"] == "MatMulV2"
    assert found.slice("Cast")["type"] == "Cast"
    assert found["ranks"]["compute_units"].to_list() == [24]
    assert found.count("ascend_export_older") == 1
    assert found.count("ascend_file_repeats") == 1
    assert not found.count("ascend_kernel_unmatched")


def test_files_named_by_the_user_are_claimed_by_name_or_content(tmp_path: Path) -> None:
    trace, renamed, table, other = (
        tmp_path / name for name in ("trace_view.json", "my.json", "memory_record.csv", "x.csv")
    )
    text = json.dumps(capture_events())
    for path in (trace, renamed):
        path.write_text(text)
    table.write_text("Component,Timestamp(us),Total Reserved(MB),Device Type\nAPP,5.0,1,NPU:0\n")
    for path in (trace, renamed):
        source = ascend_text.claim_file(path, path.read_bytes())
        assert source is not None
        assert Tables(source, tmp_path / path.stem)["slices"].height == 21
    source = ascend_text.claim_file(table, table.read_bytes())
    assert source is not None
    assert Tables(source, tmp_path / "memory")["memory"].height == 1
    assert ascend_text.claim_file(other, b"a,b\n") is None
    assert ascend_text.claim_file(tmp_path / "k.json", b'{"schemaVersion": 1, "traceEvents": [{"ph": "X"}]}') is None


def test_files_that_nobody_reads_and_files_that_are_missing_are_noted(tmp_path: Path) -> None:
    found = read(tmp_path, full_capture() | {"zebra.csv": "a\n1\n", "mindstudio_insight_data.db": b"x"})
    assert found.count("ascend_file_unknown") == 1
    missing = {note.file: note.params["switch"] for note in found.notes.all() if note.code == "ascend_file_missing"}
    assert missing["memory_record.csv"] == "profile_memory=True"
    assert "trace_view.json" not in missing


def test_every_note_has_its_sentence_in_both_languages(tmp_path: Path) -> None:
    readers = Path(ascend_text.__file__).parents[1]
    code = "".join(path.read_text("utf-8") for path in readers.glob("ascend*/*.py"))
    used = set(re.findall(r'\.add\(\s*"(ascend_\w+)"', code))
    known = {code for code in catalogue()["note"] if code.startswith("ascend_")}
    assert used == known
    found = read(tmp_path, full_capture() | {"zebra.csv": "a\n"})
    for note in found.notes.all():
        assert note.sentence("en") != note.sentence("zh")
    for code in known:
        fields = [set(re.findall(r"\{(\w+)\}", catalogue()["note"][code][lang])) for lang in ("en", "zh")]
        assert fields[0] == fields[1], code


# --- the shared capture -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0, 1], ids=["rank0", "rank1"])
def directory(request: pytest.FixtureRequest) -> Path:
    return SHARED / f"rank{request.param}_ascend_pt"


@pytest.fixture(scope="module")
def output(directory: Path) -> Path:
    return directory / "ASCEND_PROFILER_OUTPUT"


@pytest.fixture(scope="module")
def found(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return read_directory(directory, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def events(output: Path) -> list[dict[str, Any]]:
    text = (output / "trace_view.json").read_text("utf-8")
    loaded: list[dict[str, Any]] = json.loads(text, parse_float=decimal.Decimal)
    return loaded


@needs_shared
class TestSharedCapture:
    def table(self, output: Path, name: str) -> list[dict[str, str]]:
        with (output / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_every_event_is_there_exactly(self, found: Tables, events: list[dict[str, Any]]) -> None:
        slices = {row["slice"]: row for row in found["slices"].rows(named=True)}
        details = dict(found.rows("details", "slice", "json"))
        complete = {place: event for place, event in enumerate(events) if event["ph"] == "X"}
        assert slices.keys() == complete.keys()
        for place, event in complete.items():
            row = slices[place]
            assert (row["start_ns"], row["dur_ns"], row["name"]) == (
                nanoseconds(event["ts"]),
                nanoseconds(event["dur"]),
                event["name"],
            )
            if event.get("args"):
                assert json.loads(details[place], parse_float=decimal.Decimal) == event["args"]
        samples = sorted(
            (nanoseconds(event["ts"]), float(value))
            for event in events
            if event["ph"] == "C"
            for key, value in event["args"].items()
            if key != "acc_id"
        )
        assert samples == sorted(found.rows("counters", "time_ns", "value"))
        assert len(complete) + len(samples) + sum(event["ph"] in "sfM" for event in events) == len(events)

    def test_every_arrow_is_bound_as_brute_force_binds_it(self, found: Tables, events: list[dict[str, Any]]) -> None:
        lanes: dict[Any, list[tuple[int, int, int]]] = collections.defaultdict(list)
        for place, event in enumerate(events):
            if event["ph"] == "X":
                begin = nanoseconds(event["ts"])
                lanes[event["pid"], event["tid"]].append((begin, begin + nanoseconds(event["dur"]), place))

        def holder(event: dict[str, Any]) -> int:
            moment = nanoseconds(event["ts"])
            around = [
                (begin, begin - end, place)
                for begin, end, place in lanes[event["pid"], event["tid"]]
                if begin <= moment < end or begin == moment == end
            ]
            return max(around)[2]

        kinds = {
            "HostToDevice": "launch",
            "async_npu": "operator_launch",
            "async_task_queue": "queue",
            "fwdbwd": "forward_backward",
        }
        starts = {(event["cat"], event["id"]): holder(event) for event in events if event["ph"] == "s"}
        expected = collections.Counter(
            (kinds[event["cat"]], starts[event["cat"], event["id"]], holder(event))
            for event in events
            if event["ph"] == "f"
        )
        assert expected.total() == 611
        calls = {
            event["args"]["connection_id"]: place
            for place, event in enumerate(events)
            if event["ph"] == "X" and "level" in event.get("args", {})
        }
        copies = {}
        for place, event in enumerate(events):
            own = event.get("args", {})
            if event["ph"] == "X" and "Task Type" in own:
                copies[event["ts"], own["Physic Stream Id"], own["Task Id"], own["Subtask Id"]] = place
        on_planes = {}  # the task on a plane, by the copy on its stream
        for place, event in enumerate(events):
            own = event.get("args", {})
            if event["ph"] == "X" and "task type" in own:
                on_planes[copies[event["ts"], own["stream id"], own["task id"], own["context id"]]] = place
        launched = {end for kind, _, end in expected if kind == "launch"}
        for copy in set(copies.values()) - launched:
            call = calls.get(events[copy]["args"]["connection_id"])
            if call is not None:
                expected["launch", call, on_planes.get(copy, copy)] += 1
        assert collections.Counter(found.rows("links", "kind", "from_slice", "to_slice")) == expected
        assert expected.total() == 611 + 26 + 296

    def test_every_kernel_row_is_on_its_slice(self, found: Tables, output: Path) -> None:
        rows = self.table(output, "kernel_details.csv")
        counters: dict[int, dict[str, float]] = collections.defaultdict(dict)
        for number, metric, value in found.rows("pmu", "slice", "metric", "value"):
            counters[number][metric] = value
        by_name = collections.defaultdict(list)
        for slice_ in found["slices"].filter(pl.col("kind").is_in(["kernel", "collective"])).rows(named=True):
            by_name[slice_["name"]].append(slice_)
        assert sum(map(len, by_name.values())) == len(rows) == 191
        metrics = list(rows[0])[list(rows[0]).index("Context ID") + 1 :]
        for row in rows:
            start = nanoseconds(row["Start Time(us)"].strip())
            [slice_] = [each for each in by_name[row["Name"]] if abs(each["start_ns"] - start) <= 1]
            assert (slice_["type"], slice_["core"]) == (row["Type"], row["Accelerator Core"])
            assert slice_["step"] == int(row["Step Id"])
            assert (slice_["input_shapes"] or "N/A") in (row["Input Shapes"].strip('"') or "N/A", "N/A")
            for metric in [*metrics, "Block Dim", "Wait Time(us)"]:
                if row[metric] != "N/A":
                    assert counters[slice_["slice"]][metric] == float(row[metric])
        assert not found.count("ascend_kernel_unmatched")

    def test_kernel_times_sum_up_to_the_vendors_statistics(self, found: Tables, output: Path) -> None:
        kernels = found["slices"].filter(pl.col("kind") == "kernel")
        ours = kernels.group_by("type", "core").agg(pl.len(), total=pl.col("dur_ns").sum() / 1000)
        expected = {(row["OP Type"], row["Core Type"]): row for row in self.table(output, "op_statistic.csv")}
        assert ours.height == len(expected)
        for kind, core, count, total in ours.rows():
            assert count == int(expected[kind, core]["Count"])
            assert total == pytest.approx(float(expected[kind, core]["Total Time(us)"]), abs=0.0011 * count)

    def test_operators_are_counted_as_the_vendor_counts_them(self, found: Tables, output: Path) -> None:
        rows = self.table(output, "operator_details.csv")
        operators = found["slices"].filter(pl.col("kind") == "operator")
        expected = collections.Counter(row["Name"] for row in rows)
        assert dict(operators.group_by("name").len().rows()) == dict(expected)
        told = found["reported"].filter((pl.col("file") == "operator_details.csv") & (pl.col("metric") == "Count"))
        assert dict(told.select("key", "value").rows()) == dict(expected)
        assert told["value"].sum() == len(rows) == 859

    def test_memory_is_there_to_the_byte(self, found: Tables, output: Path) -> None:
        record = self.table(output, "memory_record.csv")
        modules = self.table(output, "npu_module_mem.csv")
        expected = [
            (
                nanoseconds(row["Timestamp(us)"].strip()),
                row["Component"],
                decimal.Decimal(row["Total Reserved(MB)"]) * 2**20,
            )
            for row in record
        ] + [
            (
                nanoseconds(row["Timestamp(us)"].strip()),
                f"module {row['Component']}",
                decimal.Decimal(row["Total Reserved(MB)"]) * 2**20,
            )
            for row in modules
        ]
        assert sorted(found.rows("memory", "time_ns", "component", "reserved")) == sorted(expected)
        blocks = self.table(output, "operator_memory.csv")
        assert found.rows("allocations", "operator", "bytes", "alloc_ns", "free_ns") == [
            (
                row["Name"],
                int(decimal.Decimal(row["Size(KB)"]) * 1024),
                nanoseconds(row["Allocation Time(us)"].strip()),
                nanoseconds(row["Release Time(us)"].strip()) if row["Release Time(us)"].strip() else None,
            )
            for row in blocks
        ]
        assert found["allocations"]["free_ns"].null_count() == 24

    def test_cache_rows_are_on_their_kernels(self, found: Tables, output: Path) -> None:
        rows = self.table(output, "l2_cache.csv")
        name = dict(found.rows("slices", "slice", "name"))
        rates = found["pmu"].filter(pl.col("metric") == "L2 Victim Rate")
        assert len(rows) == rates.height == 179
        assert sorted(
            (name[number], value) for number, _, value in rates.select("slice", "metric", "value").rows()
        ) == sorted((row["Op Name"], float(row["Victim Rate"])) for row in rows)

    def test_every_cell_of_the_summaries_is_reported(self, found: Tables, output: Path) -> None:
        reported = {
            (row["file"], row["key"], row["metric"]): row["value"] for row in found["reported"].rows(named=True)
        }
        keys = {
            "op_statistic.csv": ("OP Type", "Core Type"),
            "api_statistic.csv": ("Level", "API Name"),
            "step_trace_time.csv": (),
        }
        for file, columns in keys.items():
            rows = self.table(output, file)
            for row in rows:
                key = "@".join(row[column] for column in columns) or None
                for metric, text in row.items():
                    if metric not in (*columns, "Step"):
                        assert reported.pop((file, key, metric)) == float(text)
        calls = json.loads((output / "communication.json").read_text())["step50"]["collective"]
        for call, told in calls.items():
            for metric, value in told["Communication Time Info"].items():
                if metric != "Start Timestamp(us)":
                    assert reported.pop(("communication.json", call, metric)) == value
            for transport, band in told["Communication Bandwidth Info"].items():
                packets = band.pop("Size Distribution")
                for metric, value in band.items() if any(band.values()) else ():
                    assert reported.pop(("communication.json", call, f"{transport} {metric}")) == value
                for size, (count, time) in packets.items():
                    assert reported.pop(("communication.json", call, f"{transport} {size} MB packets")) == count
                    assert reported.pop(("communication.json", call, f"{transport} {size} MB packets time(ms)")) == time
        matrix = json.loads((output / "communication_matrix.json").read_text())["step50"]["collective"]
        for call, links in matrix.items():
            for link, told in links.items():
                for metric in ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)"):
                    assert reported.pop(("communication_matrix.json", call, f"{link} {metric}")) == told[metric]
        assert {file for file, *_ in reported} == {"operator_details.csv"}

    def test_planes_blame_rank_5_as_the_sheet_says(self, found: Tables) -> None:
        waits = found["transfers"].filter(pl.col("kind") == "wait").group_by("peer").agg(pl.col("time_ns").sum())
        worst = waits.sort("time_ns").rows()[-1]
        assert worst[0] == 5
        assert 92e6 < worst[1] < 102e6

    def test_transfers_agree_with_the_vendors_matrix(self, found: Tables, output: Path) -> None:
        [(_, links)] = [
            (call, links)
            for call, links in json.loads((output / "communication_matrix.json").read_text())["step50"][
                "collective"
            ].items()
            if "-total@" in call
        ]
        moved = found["transfers"].filter((pl.col("kind") != "wait") & (pl.col("transport") == "HCCS"))
        ours = {
            peer: (size, time)
            for peer, size, time in moved.group_by("peer").agg(pl.col("bytes").sum(), pl.col("time_ns").sum()).rows()
        }
        theirs = {
            int(link.split("-")[1]): (told["Transit Size(MB)"], told["Transit Time(ms)"])
            for link, told in links.items()
            if told["Transport Type"] == "HCCS"
        }
        assert ours.keys() == theirs.keys()
        for peer, (size, time) in theirs.items():
            assert ours[peer][0] == pytest.approx(size * 1e6, abs=1)
            assert ours[peer][1] == pytest.approx(time * 1e6, abs=10)

    def test_overlap_lanes_are_reported_and_duplicates_counted_once(self, found: Tables) -> None:
        kinds = dict(found["slices"].group_by(pl.col("kind").cast(pl.String)).len().rows())
        assert kinds["reported"] == 382 + 296  # the vendor's lanes, and stream copies of plane tasks
        assert found.count("ascend_task_shown_twice") == 296
        assert kinds["collective"] == 4
        assert kinds["wait"] == 112 + 10  # on planes, and event waits on streams
        vendor = found["tracks"].filter(pl.col("kind") == "vendor")["name"].to_list()
        assert sorted(vendor) == ["Communication", "Communication(Not Overlapped)", "Computing", "Free"]

    def test_nothing_else_is_noted(self, found: Tables) -> None:
        codes = {note.code for note in found.notes.all()}
        assert codes == {"ascend_task_shown_twice", "ascend_columns_unused", "ascend_task_unlaunched"}
        assert found.count("ascend_task_unlaunched") == 2


# --- broken input -----------------------------------------------------------------------------------------


def digest(directory: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


MEMORY = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\r\nPTA,5.000\t,1,2,NPU:0\r\n"
BLOCKS = (
    "Name,Size(KB),Allocation Time(us),Release Time(us),Stream Ptr,Device Type\r\n"
    "aten::mm,1,5.000\t,6.000\t,7,NPU:0\r\n"
)
DETAILS = 'Name,Input Shapes,Call Stack,Host Self Duration(us)\nadd,"2;\n3","a;\nb",1.5\n'
L2 = "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,0.25,MatMul\n"


def everything() -> dict[str, Any]:
    return full_capture() | {
        "memory_record.csv": MEMORY,
        "operator_memory.csv": BLOCKS,
        "operator_details.csv": DETAILS,
        "l2_cache.csv": L2,
        "../profiler_metadata.json": {"parallel_group_info": {"a%b": {"group_name": "dp", "global_ranks": [0, 1]}}},
    }


def read_unharmed(directory: Path, work: Path) -> Tables | None:
    """Read; the input must be untouched, and the only error is one with a sentence."""
    before = digest(directory)
    try:
        found: Tables | None = read_directory(directory, work)
        assert found is not None
        for note in found.notes.all():
            assert note.sentence("en")
            assert note.sentence("zh")
    except UnreadableInputError as error:
        assert error.message("en") != error.message("zh")
        found = None
    assert digest(directory) == before
    return found


@pytest.mark.parametrize("name", sorted(everything()))
def test_a_file_cut_anywhere_is_read_as_far_as_it_goes(tmp_path: Path, name: str) -> None:
    whole = everything()[name]
    text = (whole if isinstance(whole, str) else json.dumps(whole)).encode()
    cuts = sorted({0, 1, len(text) // 2, len(text) - 1, *random.Random(name).sample(range(len(text)), 4)})
    for cut in cuts:
        directory = write_rank(tmp_path / str(cut), everything() | {name: text[:cut]})
        found = read_unharmed(directory, tmp_path / f"store{cut}")
        assert found is not None
        if name != "trace_view.json":
            assert found["slices"].height == 21


@pytest.mark.parametrize("name", sorted(everything()))
def test_random_damage_never_raises(tmp_path: Path, name: str) -> None:
    whole = everything()[name]
    text = bytearray((whole if isinstance(whole, str) else json.dumps(whole)).encode())
    chance = random.Random(f"damage {name}")
    for attempt in range(6):
        damaged = bytearray(text)
        for _ in range(chance.randint(1, 30)):
            damaged[chance.randrange(len(damaged))] = chance.choice(b'\0",{}[]:\n\r\t\xff09.eE-')
        directory = write_rank(tmp_path / str(attempt), everything() | {name: bytes(damaged)})
        read_unharmed(directory, tmp_path / f"store{attempt}")


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\0", b"\xff\xfe\x00", b"null", b"[]", b"{}", b'"x"', b",,,\n,,,\n", b"a" * 5000]
)
def test_a_file_of_something_else_is_noted_or_read_as_empty(tmp_path: Path, content: bytes) -> None:
    more = ("step_trace_time.csv", "nic.csv", "npu_module_mem.csv", "../parallel_strategy_0.json")
    spoilt = dict.fromkeys([*everything(), *more], content)
    timeline = {"trace_view.json": capture_events()}
    found = read_unharmed(write_rank(tmp_path / "tables", spoilt | timeline), tmp_path / "tables" / "store")
    assert found is not None
    assert found["ranks"].height == 1
    assert found["slices"].height == 21
    found = read_unharmed(
        write_rank(tmp_path / "timeline", everything() | {"trace_view.json": content}), tmp_path / "timeline" / "store"
    )
    assert found is not None
    assert found["slices"].height == 3  # from the kernels


@pytest.mark.parametrize("value", [None, "x", [], {}, 1e400, -1, True, 10**30, "4294967295", "\ud800"])
def test_wrong_types_in_events_and_calls_lose_only_what_is_wrong(tmp_path: Path, value: Any) -> None:
    events = [
        {
            key: (dict.fromkeys(event["args"], value) if key == "args" else value if key in wrong else event[key])
            for key in event
        }
        for event in capture_events()
        for wrong in ((), ("ts",), ("dur",), ("tid",), ("pid",), ("name",), ("cat",), ("id",))
    ]
    call = {
        "Communication Time Info": dict.fromkeys(CALL["Communication Time Info"], value),
        "Communication Bandwidth Info": {"HCCS": value},
    }
    links = {"step7": {"collective": {"a-total@1": {"0-1": {"Transit Size(MB)": value}}}}, "x": {"p2p": {"b": {}}}}
    files = everything() | {
        "trace_view.json": json.dumps(capture_events() + events),
        "communication.json": json.dumps({"step7": {"collective": {"a@1": call}}}),
        "communication_matrix.json": json.dumps(links),
        "../profiler_info_0.json": {"rank_id": 0, "config": json.loads(json.dumps(value))} if value != 1e400 else INFO,
    }
    found = read_unharmed(write_rank(tmp_path, files), tmp_path / "store")
    assert found is not None
    assert found["slices"].filter(pl.col("name") == "MatMul").height >= 1


@pytest.mark.parametrize("value", ["x", "", "1e400", "-5", "9" * 40, "N/A", '"', "nan", "0x10"])
def test_wrong_cells_lose_only_themselves(tmp_path: Path, value: str) -> None:
    quoted = '"' + value.replace('"', '""') + '"'

    def spoilt(text: str) -> str:
        header, *rows = text.splitlines()
        cells = len(next(csv.reader([header])))
        return "\n".join([header, *rows, ",".join([quoted] * cells)]) + "\n"

    tables = {
        name: spoilt(text)
        for name, text in {
            "kernel_details.csv": KERNELS,
            "memory_record.csv": MEMORY,
            "operator_memory.csv": BLOCKS,
            "l2_cache.csv": L2,
            "step_trace_time.csv": "Step,Computing\n7,1\n",
            "npu_module_mem.csv": "Component,Timestamp(us),Total Reserved(MB),Device\nAPP,1.0,2,NPU:0\n",
            "nic.csv": "Timestamp(us),Bandwidth(MB/s),funcId\n1.0,2,0\n",
            "data_preprocess.csv": "Timestamp(us),Node,Compute_time(us),Stream ID,Task ID\n1,Cast,2,2,2\n",
        }.items()
    }
    found = read_unharmed(write_rank(tmp_path, everything() | tables), tmp_path / "store")
    assert found is not None
    assert found.slice("MatMul")["type"] == "MatMulV2"
    assert found["allocations"]["operator"].to_list()[0] == "aten::mm"
    assert found["memory"].height >= 2


@pytest.mark.parametrize("gone", range(21))
def test_missing_columns_are_survived(tmp_path: Path, gone: int) -> None:
    tables = {
        "kernel_details.csv": KERNELS,
        "memory_record.csv": MEMORY,
        "operator_memory.csv": BLOCKS,
        "l2_cache.csv": L2,
    }
    for name, text in tables.items():
        header = next(csv.reader([text.splitlines()[0]]))
        tables[name] = text.replace(header[gone % len(header)], "Gone", 1)
    found = read_unharmed(write_rank(tmp_path, everything() | tables), tmp_path / "store")
    assert found is not None
    assert found["slices"].height == 21


def test_a_directory_of_broken_files_says_so(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, {"trace_view.json": b"\0"})
    with pytest.raises(UnreadableInputError):
        read_directory(directory, tmp_path / "store")


def test_reading_twice_gives_the_same(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, everything())
    first, second = (read_directory(directory, tmp_path / f"store{place}") for place in range(2))
    assert first.frames.keys() == second.frames.keys()
    for table in first.frames:
        assert first[table].equals(second[table]), table


def test_large_tables_are_read_in_pieces_that_end_behind_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_table, "_PIECE_BYTES", 100)
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", 64)
    rows = "".join(f'op{place},"{place};\n{place}","f;\n""g""",1\n' for place in range(50))
    found = read(
        tmp_path,
        full_capture() | {"operator_details.csv": "Name,Input Shapes,Call Stack,Host Self Duration(us)\n" + rows},
    )
    counts = found["reported"].filter((pl.col("file") == "operator_details.csv") & (pl.col("metric") == "Count"))
    assert counts.height == 50
    assert counts["value"].sum() == 50
    assert found.slice("MatMul")["type"] == "MatMulV2"


def test_one_source_is_read_without_writing_into_it(tmp_path: Path) -> None:
    directory = write_rank(tmp_path, everything())
    before = digest(directory)
    sources = claimed(directory)
    assert sources is not None
    seen: list[int] = []
    ascend_text.read(sources[0], RankWriter(tmp_path, 0), Notes(), seen.append)
    assert digest(directory) == before
    assert sum(seen) == sources[0].bytes
