"""The timeline of a small capture, every value told by hand."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readers.ascend_builder import (
    CANN,
    HARDWARE,
    HOST_PID,
    KERNEL_HEADER,
    MAIN,
    WORKER,
    arrow,
    capture_events,
    device_layers,
    full_capture,
    host_layers,
    named,
    process,
    span,
    task,
)
from readers.ascend_text.small_captures import read


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


def test_layers_are_reported_by_arguments_where_a_cut_file_lacks_the_names(tmp_path: Path) -> None:
    events = [event for event in capture_events() if event["ph"] != "M"]
    found = read(tmp_path, {"trace_view.json": events})
    assert found.slice("MatMul")["kind"] == "kernel"
    assert found.slice("Node@launch")["kind"] == "runtime"
    assert found.slice("hcom_allReduce__586_3_1")["kind"] == "collective"
    assert found.slice("aten::mm")["kind"] == "operator"
