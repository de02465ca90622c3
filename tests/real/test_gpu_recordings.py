"""Recordings of a GPU: work, periods and idle time against the file's text and against CUDA's own events."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stepscope.run import Run
from support.kineto_truth import Truth, truth
from support.recordings import DATA, facts_of, recorded_steps

Open = Callable[[str], Run]

_DRIFT_NS = 100_000  # between the clock of the trace and that of the loop


def _covered_ns(intervals: list[tuple[int, int]]) -> int:
    """The length of a union, interval by interval."""
    total, reached = 0, 0
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _work_of_steps(file: Truth) -> dict[int | None, list[tuple[int, int, bool]]]:
    """Start, end and whether it computes, of all device work by the step that launched it."""
    begins = {event.index: event.ts_ns for event in file.complete}
    work: dict[int | None, list[tuple[int, int, bool]]] = {}
    for event in file.device_work:
        step = file.step_at(begins[file.launches[event.index]])
        work.setdefault(step, []).append((event.ts_ns, event.end_ns, event.category == "kernel"))
    return work


@pytest.mark.parametrize("name", ["gpu_steps", "gpu_graph"])
def test_periods_and_their_parts_are_those_of_the_files_text(recording: Open, name: str) -> None:
    file = truth(DATA / f"{name}.json.gz")
    work = _work_of_steps(file)
    rows = recording(name).steps().to_dicts()
    assert [row["step"] for row in rows] == facts_of(name)["recorded"]
    reached = file.steps[0][1]
    for row in rows:
        own = work[row["step"]]
        end = max(stop for _, stop, _ in own)
        computing = _covered_ns([(start, stop) for start, stop, computes in own if computes])
        busy = _covered_ns([(start, stop) for start, stop, _ in own])
        parts = ("period_us", "computing_us", "exposed_copy_us", "idle_us", "overlap_us")
        expected = (end - reached, computing, busy - computing, end - reached - busy, 0)
        assert tuple(round(row[part] * 1000) for part in parts) == expected
        reached = end


@pytest.mark.parametrize("name", ["gpu_steps", "gpu_graph", "gpu_stepscope"])
def test_a_step_ends_on_the_device_before_the_loop_has_waited_for_it(recording: Open, name: str) -> None:
    clock = {step.step: step for step in recorded_steps(name)}
    for row in recording(name).steps().to_dicts():
        end = row["period_start_ns"] + round(row["period_us"] * 1000)
        assert clock[row["step"]].began_ns - _DRIFT_NS < end < clock[row["step"]].ended_ns + _DRIFT_NS


@pytest.mark.parametrize("name", ["gpu_steps", "gpu_graph", "gpu_stepscope"])
def test_a_step_computes_no_longer_than_cudas_events_say(recording: Open, name: str) -> None:
    between = {step["step"]: step["between_events_ns"] for step in facts_of(name)["steps"]}
    for row in recording(name).steps().to_dicts():
        assert 0 < row["computing_us"] * 1000 <= between[row["step"]]


def test_a_replayed_graph_shows_the_same_kernels_in_every_step(recording: Open) -> None:
    slices = recording("gpu_graph").table("slices").collect()
    kernels = slices.filter(kind="kernel").sort("start_ns")
    by_step = [rows["name"].cast(str).to_list() for _, rows in kernels.group_by("step", maintain_order=True)]
    assert len(by_step) == len(facts_of("gpu_graph")["recorded"])
    assert all(names == by_step[0] for names in by_step)
