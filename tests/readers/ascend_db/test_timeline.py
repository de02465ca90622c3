"""The timeline of a small database: slices, links, steps, counters of tasks."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from readers.ascend_db.built_databases import read_file
from readers.ascend_db_builder import (
    NONE,
    NS,
    Read,
    small_run,
    thread,
)


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
