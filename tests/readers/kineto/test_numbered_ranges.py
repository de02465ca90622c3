"""Steps that ranges of the user's own mark, where the profiler marks none: ``record_function(f"step {i}")``."""

from __future__ import annotations

import pytest

from readers.kineto.opened_traces import Opened
from support.reading import Reading
from support.traces import Event, annotation, call, kernel, operator


def _iteration(name: str, start: int, correlation: int) -> list[Event]:
    return [
        annotation(name, start, 900_000),
        operator("aten::mm", start + 100_000, 200_000),
        call("cudaLaunchKernel", start + 150_000, 20_000, correlation),
        kernel("gemm", start + 950_000, 40_000, correlation),  # behind the end of its range
    ]


def _steps(reading: Reading) -> list[tuple[int, int, int, str]]:
    return [(row["step"], row["host_start_ns"], row["host_end_ns"], row["marks_from"]) for row in reading.rows("steps")]


@pytest.mark.parametrize(
    "name",
    [
        "step {}",
        "Step: {}",
        "step#{}",
        "step={}",
        "iteration_{}",
        "Iter {}",
        "train_step {}",
        "training-step-{}",
        "batch{}",
        "step[{}]",
        "Profile Step {}",
    ],
)
def test_numbered_ranges_are_steps(name: str, opened: Opened) -> None:
    events = [event for step in (7, 8, 9) for event in _iteration(name.format(step), step * 1_000_000, step)]
    reading = opened(events)
    assert _steps(reading) == [(step, step * 1_000_000, step * 1_000_000 + 900_000, "range") for step in (7, 8, 9)]
    assert [row["step"] for row in reading.rows("slices") if row["name"] == "gemm"] == [7, 8, 9]
    assert reading.codes == {}


@pytest.mark.parametrize("name", ["step one", "stepper 4", "step 1 of 3", "optimizer_step 2", "layer 3", "train_step"])
def test_other_ranges_are_none(name: str, opened: Opened) -> None:
    reading = opened(_iteration(name, 1_000_000, 1))
    assert [row["marks_from"] for row in reading.rows("steps")] == ["window"]
    assert reading.codes == {"no_step_marks": 1}


def test_the_profilers_own_marks_come_first(opened: Opened) -> None:
    events = [*_iteration("step 3", 1_000_000, 1), annotation("ProfilerStep#12", 990_000, 990_000)]
    reading = opened(events)
    assert _steps(reading) == [(12, 990_000, 1_980_000, "profiler_step")]
    assert [row["kind"] for row in reading.rows("slices") if row["name"] == "step 3"] == ["annotation"]


def test_a_batch_inside_a_step_is_a_part_of_it(opened: Opened) -> None:
    events = [
        annotation("batch 0", 1_000_000, 100_000),
        annotation("batch 1", 1_200_000, 100_000),
        annotation("step 4", 1_000_000, 900_000),
        annotation("batch 0", 2_000_000, 100_000),
        annotation("step 5", 1_999_000, 900_000),
    ]
    assert [row[:3] for row in _steps(opened(events))] == [(4, 1_000_000, 1_900_000), (5, 1_999_000, 2_899_000)]


def test_marks_that_overlap_by_a_rounded_microsecond_are_all_steps(opened: Opened) -> None:
    events = [annotation(f"ProfilerStep#{step}", step * 1_000_000, 1_001_000) for step in (1, 2, 3)]
    assert [row[0] for row in _steps(opened(events))] == [1, 2, 3]


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (["execute_new_1_cached_4", "execute_new_0_cached_5"], [0, 1]),
        (["execute_context_1(888)_generation_0(0)", "execute_context_0(0)_generation_4(4)"], [0, 1]),
        (["[Executor] _forward_step 7: 1 ctx reqs, 3 gen reqs", "[Executor] _forward_step 8: 0 ctx reqs"], [7, 8]),
        (["[Executor] _forward_step: 1 ctx reqs, 3 gen reqs", "[Executor] _forward_step: 0 ctx reqs"], [0, 1]),
    ],
)
def test_batches_of_servers_are_steps(names: list[str], steps: list[int], opened: Opened) -> None:
    events = [event for at, name in enumerate(names, 1) for event in _iteration(name, at * 1_000_000, at)]
    expected = [(step, at * 1_000_000, at * 1_000_000 + 900_000, "serving_batch") for at, step in enumerate(steps, 1)]
    assert _steps(opened(events)) == expected
