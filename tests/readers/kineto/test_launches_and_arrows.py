"""Launches and arrows: which call launched what, and which forward operator a backward one answers."""

from __future__ import annotations

from readers.kineto.opened_traces import Opened, links
from support.traces import (
    call,
    complete,
    copy,
    flow,
    kernel,
    operator,
)


# launches
def test_a_call_is_linked_with_all_that_it_launched(opened: Opened) -> None:
    events = [
        call("cudaLaunchKernel", 1_000, 10, 1),
        call("cudaGraphLaunch", 2_000, 10, 2),
        complete("cuda_driver", "cuLaunchKernelEx", 3_000, 10, pid=100, correlation=3),
        call("cudaMemcpyAsync", 4_000, 10, 4),
        call("cudaDeviceSynchronize", 5_000, 10, 5),  # launches nothing
        kernel("one", 6_000, 10, 1),
        kernel("of graph", 7_000, 10, 2),
        kernel("of graph", 8_000, 10, 2, stream=8),
        kernel("of graph", 9_000, 10, 2),
        kernel("by driver", 10_000, 10, 3),
        copy("Memcpy HtoD", 11_000, 10, 4, 64),
        kernel("from before the window", 12_000, 10, 99),
        complete("cuda_sync", "Stream Sync", 13_000, 10, pid=0, tid=7, correlation=5, stream=7),
    ]
    reading = opened(events)
    assert links(reading, "launch") == [(0, 5), (1, 6), (1, 7), (1, 8), (2, 9), (3, 10)]
    assert "duplicate_correlation" not in reading.codes


def test_a_correlation_that_two_calls_have_is_noted_and_the_first_is_the_launch(opened: Opened) -> None:
    events = [
        call("cudaLaunchKernel", 5_000, 10, 1),
        call("cudaLaunchKernel", 1_000, 10, 1),
        kernel("k", 6_000, 10, 1),
    ]
    reading = opened(events)
    assert links(reading, "launch") == [(1, 2)]
    assert reading.codes["duplicate_correlation"] == 1


def test_arrows_of_launches_are_not_drawn_twice(opened: Opened) -> None:
    events = [
        call("cudaLaunchKernel", 1_000, 10, 1),
        kernel("k", 2_000, 10, 1),
        flow("s", "ac2g", 1, 1_000),
        flow("f", "ac2g", 1, 2_000, pid=0, tid=7),
        flow("f", "ac2g", 2, 3_000),  # every call has an end, also one that launches nothing
        flow("f", "async_gpu", 2, 3_000),
    ]
    reading = opened(events)
    assert [(row["kind"], row["from_slice"], row["to_slice"]) for row in reading.rows("links")] == [("launch", 0, 1)]
    assert set(reading.codes) == {"no_step_marks"}


# arrows between operators
def test_forward_is_linked_with_each_of_its_backward_operators(opened: Opened) -> None:
    events = [
        operator("outer", 1_000, 1_000),
        operator("forward", 1_200, 100),
        operator("backward 1", 5_000, 100, tid=2),
        operator("backward 2", 6_000, 100, tid=2),
        flow("s", "fwdbwd", 7, 1_200),
        flow("f", "fwdbwd", 7, 5_000, tid=2),
        flow("f", "fwdbwd", 7, 6_000, tid=2),
    ]
    assert links(opened(events), "forward_backward") == [(1, 2), (1, 3)]


def test_an_id_that_is_used_again_begins_a_new_arrow(opened: Opened) -> None:
    events = [
        operator("f1", 1_000, 100),
        operator("b1", 2_000, 100, tid=2),
        operator("f2", 3_000, 100),
        operator("b2", 4_000, 100, tid=2),
        flow("f", "forward_backward", 1, 4_000, tid=2),
        flow("s", "forward_backward", 1, 3_000),
        flow("f", "forward_backward", 1, 2_000, tid=2),
        flow("s", "forward_backward", 1, 1_000),
        flow("s", "other", 1, 1_000),  # ids are unique per category only
        flow("f", "other", 1, 2_000, tid=2),
    ]
    reading = opened(events)
    assert links(reading, "forward_backward") == [(0, 1), (2, 3)]
    assert links(reading, "flow") == [(0, 1)]


def test_arrows_without_a_slice_or_a_beginning_are_counted(opened: Opened) -> None:
    events = [
        operator("f", 1_000, 100),
        flow("s", "fwdbwd", 1, 9_000),  # nothing is there
        flow("f", "fwdbwd", 1, 1_000),
        flow("f", "fwdbwd", 2, 1_050),
    ]
    reading = opened(events)
    assert links(reading, "forward_backward") == []
    assert reading.codes["flow_unbound"] == 1
    assert reading.codes["flow_without_start"] == 2
