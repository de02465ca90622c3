"""What stands around a launch: operators, modules, stacks, shapes."""

from __future__ import annotations

import json
from pathlib import Path

from readers.kineto.opened_traces import Opened, frame
from support.reading import read
from support.traces import (
    annotation,
    call,
    compact,
    complete,
    document,
    flow,
    kernel,
    operator,
    write,
)


# operators, modules, stacks
def test_the_operator_behind_device_work_is_the_innermost_around_its_launch(opened: Opened) -> None:
    events = [
        operator("aten::linear", 1_000, 1_000, **{"External id": 10}),
        operator("aten::addmm", 1_100, 500, **{"External id": 11}),
        call("cudaLaunchKernel", 1_200, 10, 1),
        kernel("by time", 3_000, 10, 1, **{"External id": 99}),  # an annotation, not an operator
        kernel("by id", 4_000, 10, 2, **{"External id": 10}),  # its launch is not in the file
        kernel("by nothing", 5_000, 10, 3),
        call("cudaMalloc", 9_000, 10, 4),
    ]
    found = {row["name"]: row["operator"] for row in opened(events).rows("slices")}
    assert found["by time"] == "aten::addmm"
    assert found["by id"] == "aten::linear"
    assert found["by nothing"] is None
    assert found["cudaLaunchKernel"] == "aten::addmm"
    assert found["cudaMalloc"] is None


def test_old_writers_spell_the_external_id_in_lower_case(opened: Opened) -> None:
    events = [
        complete("Operator", "aten::mm", 1_000, 100, **{"external id": 4}),
        complete("Kernel", "k", 3_000, 10, pid=0, tid=7, stream=7, correlation=9, **{"external id": 4}),
    ]
    assert opened(events).named("k")["operator"] == "aten::mm"


def test_modules_and_stacks_come_from_the_python_frames_around(opened: Opened) -> None:
    events = [
        frame("train.py(3): main", 1_000, 9_000),
        frame("nn.Module: Net_0", 2_000, 5_000),
        frame("net.py(7): forward", 2_100, 4_000),
        frame("nn.Module: Linear_1", 2_200, 1_000),
        operator("aten::linear", 2_300, 100),
        call("cudaLaunchKernel", 2_310, 10, 1),
        operator("aten::relu", 4_000, 100),
        operator("aten::zero_", 8_000, 100),
        kernel("k", 20_000, 10, 1),
    ]
    reading = opened(events)
    rows = {row["name"]: row for row in reading.rows("slices")}
    frames = {row["stack"]: row["frames"] for row in reading.rows("stacks")}
    assert rows["aten::linear"]["module"] == rows["k"]["module"] == "Net_0/Linear_1"
    assert rows["aten::relu"]["module"] == "Net_0"
    assert rows["aten::zero_"]["module"] is None
    whole = "train.py(3): main\nnn.Module: Net_0\nnet.py(7): forward\nnn.Module: Linear_1"
    assert frames[rows["aten::linear"]["stack"]] == frames[rows["k"]["stack"]] == whole
    assert frames[rows["aten::relu"]["stack"]] == "train.py(3): main\nnn.Module: Net_0\nnet.py(7): forward"
    assert frames[rows["aten::zero_"]["stack"]] == "train.py(3): main"
    assert rows["nn.Module: Linear_1"]["kind"] == "module"
    assert rows["net.py(7): forward"]["kind"] == "python"


def test_modules_and_stacks_that_operators_state_are_handed_down(opened: Opened) -> None:
    stated = {"Call stack": "net.py(7): forward;train.py(3): main;", "Module Hierarchy": "Net.Linear"}
    events = [
        operator("aten::linear", 1_000, 1_000, **stated),
        operator("aten::addmm", 1_100, 500),
        call("cudaLaunchKernel", 1_200, 10, 1),
        operator("aten::other", 4_000, 100),
        kernel("k", 3_000, 10, 1),
    ]
    reading = opened(events)
    frames = {row["stack"]: row["frames"] for row in reading.rows("stacks")}
    for name in ("aten::linear", "aten::addmm", "k"):
        row = reading.named(name)
        assert row["module"] == "Net.Linear", name
        assert frames[row["stack"]] == "train.py(3): main\nnet.py(7): forward", name
    other = reading.named("aten::other")
    assert (other["module"], other["stack"]) == (None, None)


def test_shapes_and_types_are_kept_as_recorded(opened: Opened) -> None:
    own = {"Input Dims": [[2, 3], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "1"], "Ev Idx": 4}
    reading = opened([operator("aten::add", 1_000, 10, **own)])
    row = reading.named("aten::add")
    assert (json.loads(row["input_shapes"]), json.loads(row["dtypes"])) == ([[2, 3], []], ["float", "Scalar"])
    (details,) = reading.rows("details")
    assert details["json"] == compact(own)


def test_older_rocm_traces_join_by_id_and_arrow(tmp_path: Path) -> None:
    """Neither calls nor kernels have a correlation: the operator by its id, the launch by the arrow."""
    step = [annotation("ProfilerStep#1", 1_000, 10_000), annotation("ProfilerStep#2", 20_000, 10_000)]
    named = {"External id": 5}
    events = [
        *step,
        operator("aten::mm", 2_000, 1_000, **named),
        complete("cuda_runtime", "hipLaunchKernel", 2_100, 100, pid=100),
        flow("s", "ac2g", 77, 2_100),
        complete("kernel", "Cijk_gemm", 21_000, 500, pid=0, tid=3, **named),  # while the second step has begun
        flow("f", "ac2g", 77, 21_000, pid=0, tid=3),
    ]
    reading = read(write(tmp_path / "trace.json", document(events)))
    kernel_row = reading.named("Cijk_gemm")
    assert (kernel_row["operator"], kernel_row["step"]) == ("aten::mm", 1)
    links = [(row["kind"], row["from_slice"], row["to_slice"]) for row in reading.rows("links")]
    assert links == [("launch", 3, 5)]
