"""Which step and which phase of it a slice belongs to."""

from __future__ import annotations

from readers.kineto.opened_traces import Opened
from support.traces import (
    annotation,
    call,
    complete,
    kernel,
    operator,
)


# steps and phases
def test_a_kernel_belongs_to_the_step_that_launched_it_even_if_it_runs_later(opened: Opened) -> None:
    events = [
        annotation("ProfilerStep#8", 1_000, 1_000),
        annotation("ProfilerStep#9", 2_000, 1_000),
        call("cudaLaunchKernel", 1_900, 10, 1),
        kernel("late", 2_500, 10, 1),
        call("cudaLaunchKernel", 2_520, 10, 2),
        kernel("next", 2_700, 10, 2),
        kernel("from before", 2_400, 10, 76),
        kernel("beside late", 2_512, 10, 77),
        kernel("beside next", 2_680, 10, 78),
        kernel("behind all", 9_000, 10, 79),
        kernel("on a stream without launches", 2_800, 10, 80, stream=9),
        kernel("there before all launches", 2_300, 10, 81, stream=9),
        operator("other thread", 1_999, 100, tid=2),
        operator("at the border", 2_000, 10, tid=2),
    ]
    reading = opened(events)
    steps = {row["name"]: row["step"] for row in reading.rows("slices")}
    assert (steps["late"], steps["next"], steps["from before"]) == (8, 9, None)
    assert (steps["beside late"], steps["beside next"], steps["behind all"]) == (8, 9, 9)
    assert (steps["on a stream without launches"], steps["there before all launches"]) == (9, None)
    assert (steps["other thread"], steps["at the border"]) == (8, 9)
    rows = {row["step"]: row for row in reading.rows("steps")}
    assert (rows[8]["host_start_ns"], rows[8]["host_end_ns"]) == (1_000, 2_000)
    assert (rows[8]["device_start_ns"], rows[8]["device_end_ns"]) == (2_500, 2_522)
    assert (rows[9]["device_start_ns"], rows[9]["device_end_ns"]) == (2_680, 9_010)
    assert {row["marks_from"] for row in rows.values()} == {"profiler_step"}
    assert reading.named("ProfilerStep#8")["kind"] == "step"
    assert "no_step_marks" not in reading.codes


def test_without_marks_one_step_reaches_from_the_first_launch_to_the_last_device_work(opened: Opened) -> None:
    events = [
        operator("long before", 1_000, 10),
        operator("around the launch", 4_990, 30),
        call("cudaLaunchKernel", 5_000, 10, 1),
        kernel("from before", 4_000, 10, 9),
        kernel("k", 5_010, 50, 1),
        operator("behind", 7_000, 20),
    ]
    reading = opened(events)
    (step,) = reading.rows("steps")
    assert (step["host_start_ns"], step["host_end_ns"], step["marks_from"]) == (5_000, 5_061, "window")
    inside = {row["name"] for row in reading.rows("slices") if row["step"] == step["step"]}
    assert inside == {"around the launch", "cudaLaunchKernel", "k"}
    assert reading.codes == {"no_step_marks": 1}


def test_without_marks_and_launches_one_step_holds_the_device_work(opened: Opened) -> None:
    (step,) = opened([operator("a", 1_000, 10), kernel("k", 5_010, 50, 3)]).rows("steps")
    assert (step["host_start_ns"], step["host_end_ns"]) == (5_010, 5_061)


def test_without_marks_and_device_one_step_holds_the_operators(opened: Opened) -> None:
    (step,) = opened([annotation("import", 10, 900), operator("a", 1_000, 10), operator("b", 5_000, 20)]).rows("steps")
    assert (step["host_start_ns"], step["host_end_ns"]) == (1_000, 5_021)


def test_a_kernel_named_like_a_step_marks_none(opened: Opened) -> None:
    events = [
        complete("gpu_user_annotation", "ProfilerStep#3", 1_000, 10, pid=0, tid=7),
        annotation("not ProfilerStep#3", 1_000, 10),
        annotation("ProfilerStep # 4", 2_000, 10),
    ]
    assert [row["step"] for row in opened(events).rows("steps")] == [4]


def test_phases_follow_from_what_surrounds_the_launch(opened: Opened) -> None:
    backward = "autograd::engine::evaluate_function: MmBackward0"
    events = [
        annotation("ProfilerStep#1", 1_000, 9_000),
        annotation("enumerate(DataLoader)#_Iter.__next__", 1_100, 100),
        operator("aten::mm", 2_000, 100),
        call("cudaLaunchKernel", 2_010, 10, 1),
        operator(backward, 3_000, 1_000, tid=2),
        operator("aten::mm_backward", 3_100, 100, tid=2),
        call("cudaLaunchKernel", 3_110, 10, 2, tid=2),
        annotation("Optimizer.step#SGD.step", 5_000, 1_000),
        operator("aten::add_", 5_100, 100),
        call("cudaLaunchKernel", 5_110, 10, 3),
        annotation("Optimizer.zero_grad#SGD.zero_grad", 6_500, 100),
        operator("after the step", 20_000, 100),
        kernel("k1", 7_000, 10, 1),
        kernel("k2", 7_100, 20, 2),
        kernel("k3", 7_200, 10, 3),
        kernel("k4", 7_300, 10, 99),
    ]
    reading = opened(events)
    phases = {row["name"]: row["phase"] for row in reading.rows("slices") if row["name"] != "cudaLaunchKernel"}
    assert phases == {
        "ProfilerStep#1": None,
        "enumerate(DataLoader)#_Iter.__next__": "data",
        "aten::mm": "forward",
        backward: "backward",
        "aten::mm_backward": "backward",
        "Optimizer.step#SGD.step": "optimizer",
        "aten::add_": "optimizer",
        "Optimizer.zero_grad#SGD.zero_grad": "optimizer",
        "after the step": None,
        "k1": "forward",
        "k2": "backward",
        "k3": "optimizer",
        "k4": None,
    }
    (step,) = reading.rows("steps")
    assert (step["forward_start_ns"], step["first_operator"]) == (7_000, "aten::mm")
    assert (step["backward_end_ns"], step["last_operator"]) == (7_120, "aten::mm_backward")
