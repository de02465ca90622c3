"""Graphs that were captured with operators and launched with kernels alone, joined; cases worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stepscope
from readers.kineto.opened_traces import Opened
from support.traces import annotation, call, compact, document, kernel, operator, write

Event = dict[str, Any]
MM: dict[str, Any] = {"Input Dims": [[8, 16], [16, 4]], "Input type": ["float", "float"]}


def captured(at: int, *nodes: Event) -> list[Event]:
    """A capture of 10 µs around nodes."""
    return [call("cudaStreamBeginCapture", at, 10, 900), *nodes, call("cudaStreamEndCapture", at + 10_000, 10, 901)]


def node(at: int, name: str, correlation: int, **args: Any) -> list[Event]:
    """An operator with the call that becomes a node."""
    return [operator(name, at, 500, **args), call("cudaLaunchKernel", at + 100, 50, correlation)]


def launched(at: int, correlation: int, *kernels: tuple[str, int]) -> list[Event]:
    """A launch with its kernels, each with its stream, one after the other."""
    own = (
        kernel(name, at + 1_000 + 100 * i, 80, correlation, stream=stream) for i, (name, stream) in enumerate(kernels)
    )
    return [call("cudaGraphLaunch", at, 500, correlation), *own]


def operators_of(rows: list[Event]) -> list[tuple[str, str | None]]:
    kernels = sorted((row for row in rows if row["kind"] == "kernel"), key=lambda row: row["start_ns"])
    return [(row["name"], row["operator"]) for row in kernels]


def test_kernels_of_a_launch_have_the_operators_of_the_capture_in_its_order(opened: Opened) -> None:
    nodes = [*node(2_000, "aten::mm", 1, **MM), *node(3_000, "aten::gelu", 2, **{"Input Dims": [[8, 4]]})]
    reading = opened([*captured(1_000, *nodes), *launched(50_000, 10, ("gemm", 7), ("elementwise", 7))])
    assert operators_of(reading.rows("slices")) == [("gemm", "aten::mm"), ("elementwise", "aten::gelu")]
    assert reading.named("gemm")["input_shapes"] == "[[8, 16], [16, 4]]"
    assert reading.named("aten::mm")["phase"] == "capture"
    assert reading.codes["graph_kernels_joined"] == 2
    assert "graph_kernels_unmatched" not in reading.codes


def test_flops_count_at_every_launch_and_once_for_several_kernels_of_an_operator(tmp_path: Path) -> None:
    both = [operator("aten::mm", 2_000, 900, **MM), *(call("cudaLaunchKernel", at, 50, at) for at in (2_100, 2_300))]
    events = captured(1_000, *both)
    for number in range(3):
        at = 50_000 + 20_000 * number
        events += [annotation(f"ProfilerStep#{number}", at, 15_000)]
        events += launched(at + 1_000, 10 + number, ("gemm", 7), ("reduce", 7))
    run = stepscope.load(write(tmp_path / "trace.json", document(events)), store=tmp_path / "store", progress=False)
    (row,) = run.flops().operators
    assert (row.name, row.count, row.flops) == ("aten::mm", 3, 3 * 2 * 8 * 16 * 4)
    assert row.device_us == pytest.approx(3 * 2 * 0.080)
    assert [step.flops for step in run.flops().steps] == [2 * 8 * 16 * 4] * 3


def test_a_launch_with_other_kernels_keeps_them_without_operators(opened: Opened) -> None:
    nodes = node(2_000, "aten::mm", 1, **MM)
    reading = opened([*captured(1_000, *nodes), *launched(50_000, 10, ("gemm", 7), ("another", 7))])
    assert operators_of(reading.rows("slices")) == [("gemm", None), ("another", None)]
    assert reading.codes["graph_kernels_unmatched"] == 2
    assert "graph_kernels_joined" not in reading.codes


def test_launches_without_any_capture_say_how_to_record_one(opened: Opened) -> None:
    reading = opened(launched(50_000, 10, ("gemm", 7)))
    assert reading.codes["graph_not_captured"] == 1


def test_calls_that_ran_while_a_graph_was_captured_are_none_of_its_nodes(opened: Opened) -> None:
    beside = [call("cudaLaunchKernel", 2_500, 50, 5, tid=2), kernel("beside", 2_700, 10, 5, stream=9)]
    nodes = node(2_000, "aten::mm", 1, **MM)
    reading = opened([*captured(1_000, *nodes, *beside), *launched(50_000, 10, ("gemm", 7))])
    assert reading.named("gemm")["operator"] == "aten::mm"


def test_numbers_of_nodes_tell_the_order_where_streams_ran_side_by_side(opened: Opened) -> None:
    nodes = [*node(2_000, "aten::mm", 1), *node(3_000, "aten::gelu", 2), *node(4_000, "aten::add", 3)]
    launch = call("cudaGraphLaunch", 50_000, 500, 10)
    side_by_side = [("gemm", 7, 0, 31), ("plus", 7, 100, 33), ("gelu", 9, 200, 32)]  # stream, start, node
    numbered = [
        kernel(name, 51_000 + start, 50, 10, stream=stream, **{"graph id": 30, "graph node id": number})
        for name, stream, start, number in side_by_side
    ]
    rows = opened([*captured(1_000, *nodes), launch, *numbered]).rows("slices")
    assert dict(operators_of(rows)) == {"gemm": "aten::mm", "gelu": "aten::gelu", "plus": "aten::add"}
    unnumbered = [kernel(name, 51_000 + start, 50, 10, stream=stream) for name, stream, start, _ in side_by_side]
    reading = opened([*captured(1_000, *nodes), launch, *unnumbered])
    assert {operator for _, operator in operators_of(reading.rows("slices"))} == {None}
    assert reading.codes["graph_kernels_unmatched"] == 3


def hip_node(at: int, name: str, correlation: int, kernel_name: str) -> list[Event]:
    stated = call("hipLaunchKernel", at + 100, 50, correlation, kernel=kernel_name)
    return [operator(name, at, 500), stated]


def test_kernels_that_hips_calls_name_are_joined_on_any_stream(opened: Opened) -> None:
    nodes = [*hip_node(2_000, "aten::mm", 1, "gemm"), *hip_node(3_000, "aten::gelu", 2, "gelu")]
    launch = call("hipGraphLaunch", 50_000, 500, 10)
    ran = [kernel("gelu", 51_000, 50, 10, stream=9), kernel("gemm", 51_020, 50, 10, stream=7)]
    begin, end = (call(f"hipStream{word}Capture", at, 10, at) for word, at in (("Begin", 1_000), ("End", 11_000)))
    rows = opened([begin, *nodes, end, launch, *ran]).rows("slices")
    assert dict(operators_of(rows)) == {"gemm": "aten::mm", "gelu": "aten::gelu"}
    other = [kernel("gelu", 51_000, 50, 10, stream=9), kernel("softmax", 51_020, 50, 10, stream=7)]
    assert opened([begin, *nodes, end, launch, *other]).codes["graph_kernels_unmatched"] == 2


def sizes(*captured_sizes: int) -> list[Event]:
    """Captures of one operator for several batches, all of one kernel."""
    events = []
    for number, size in enumerate(captured_sizes):
        at = 100_000 * number
        own = node(at + 2_000, "aten::mm", at + 1, **{"Input Dims": [[size, 16], [16, 4]], "Input type": ["float"] * 2})
        events += [annotation(f"capture_{size}_decode", at + 500, 20_000), *captured(at + 1_000, *own)]
    return events


def test_of_graphs_that_all_fit_the_size_of_the_batch_tells_which_was_launched(opened: Opened) -> None:
    step = annotation("execute_context_0(0)_generation_5(5)", 899_000, 9_000)
    reading = opened([*sizes(16, 8, 4), step, *launched(900_000, 10, ("gemm", 7))])
    assert reading.named("gemm")["input_shapes"] == "[[8, 16], [16, 4]]"  # the smallest that 5 fits in


def test_what_graphs_that_all_fit_do_not_agree_on_is_not_told(opened: Opened) -> None:
    reading = opened([*sizes(16, 8), *launched(900_000, 10, ("gemm", 7))])
    assert (reading.named("gemm")["operator"], reading.named("gemm")["input_shapes"]) == ("aten::mm", None)


@pytest.mark.parametrize("job", ["run", "captures"])
@pytest.mark.parametrize(
    "capture",
    [
        "graph_capture_profile/DecodeCudaGraphRunner_bs_8_rank0.json.gz",  # SGLang
        "capture_traces/graph_capture_rank_0.1794762097927062025.pt.trace.json.gz",  # vLLM
        "capture_bs_8_rank0.json.gz",
    ],
)
def test_traces_of_captures_lie_beside_that_of_the_launches(tmp_path: Path, capture: str, job: str) -> None:
    of_capture = captured(1_000, *node(2_000, "aten::mm", 1, **MM))
    write(tmp_path / job / capture, document(of_capture, distributedInfo={"rank": 0, "world_size": 2}))
    ranks = {
        rank: document(launched(50_000, 10, ("gemm", 7)), distributedInfo={"rank": rank, "world_size": 2})
        for rank in (0, 1)
    }
    for rank, content in ranks.items():
        write(tmp_path / job / f"serving_rank{rank}.json", content)
    run = stepscope.load(tmp_path / job, store=tmp_path / "store", progress=False)
    kernels = run.table("slices").filter(kind="kernel").collect()
    assert sorted(zip(kernels["rank"], kernels["operator"].cast(str), strict=True)) == [
        (0, "aten::mm"),
        (1, "aten::mm"),
    ]
    assert len(run.windows) == 1


def test_a_broken_trace_of_a_capture_is_noted_and_the_launches_are_read(tmp_path: Path) -> None:
    text = compact(document(captured(1_000, *node(2_000, "aten::mm", 1, **MM))))
    write(
        tmp_path / "run" / "capture_traces" / "a.json", text.replace('"traceEvents": [', '"traceEvents": [{"ph": "X"')
    )
    write(tmp_path / "run" / "serving.json", document(launched(50_000, 10, ("gemm", 7))))
    run = stepscope.load(tmp_path / "run", store=tmp_path / "store", progress=False)
    assert run.table("slices").filter(kind="kernel").collect().height == 1
