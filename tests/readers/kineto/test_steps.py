"""Steps and the extent of PyTorch traces whose writers mark them otherwise: old categories, late marks, none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.reading import Reading, read
from support.traces import Event, annotation, call, complete, document, kernel, operator, us, write


def opened(tmp_path: Path, events: list[Event]) -> Reading:
    return read(write(tmp_path / "trace.json", document(events)))


def window_end(time_ns: int) -> Event:
    return {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": us(time_ns)}


@pytest.mark.parametrize("category", ["Operator", "cpu_op", "user_annotation"])
def test_steps_have_had_the_category_of_operators(category: str, tmp_path: Path) -> None:
    events = []
    for step, start in ((1, 1_000_000), (2, 2_000_000), (3, 3_000_000)):
        events += [
            complete(category, f"ProfilerStep#{step}", start, 900_000, pid=100),
            operator("aten::mm", start + 100_000, 200_000),
            call("cudaLaunchKernel", start + 150_000, 20_000, step),
            kernel("gemm", start + 950_000, 40_000, step),  # behind the end of its step
        ]
    reading = opened(tmp_path, events)
    found = [(row["step"], row["host_start_ns"], row["host_end_ns"]) for row in reading.rows("steps")]
    assert found == [(1, 1_000_000, 1_900_000), (2, 2_000_000, 2_900_000), (3, 3_000_000, 3_900_000)]
    assert {row["marks_from"] for row in reading.rows("steps")} == {"profiler_step"}
    assert [row["step"] for row in reading.rows("slices") if row["name"] == "gemm"] == [1, 2, 3]
    assert {row["kind"] for row in reading.rows("slices") if row["name"].startswith("Profiler")} == {"step"}
    assert {row["phase"] for row in reading.rows("slices") if row["name"] == "gemm"} == {"forward"}
    assert reading.codes == {}


def test_a_range_on_a_stream_is_of_the_step_of_its_work_not_of_the_step_that_the_host_is_in_meanwhile(
    tmp_path: Path,
) -> None:
    """The host launches three steps within 3 ms; the device needs 10 ms for each."""
    events = []
    for step in (1, 2, 3):
        host, device = step * 1_000_000, step * 10_000_000 - 7_500_000
        events += [
            annotation(f"ProfilerStep#{step}", host, 900_000),
            annotation("forward", host + 50_000, 400_000),
            call("cudaLaunchKernel", host + 100_000, 20_000, step),
            kernel("gemm", device + 1_000, 9_000_000, step),
            complete("gpu_user_annotation", f"ProfilerStep#{step}", device, 9_010_000, pid=0, tid=7),
            complete("gpu_user_annotation", "forward", device + 1_000, 9_000_000, pid=0, tid=7),
        ]
    rows = sorted(opened(tmp_path, events).rows("slices"), key=lambda row: row["start_ns"])
    # In time: the host's first and second, the device's first (at 2.5 ms), the host's third, then the device's others.
    assert [row["step"] for row in rows if row["name"] == "forward"] == [1, 2, 1, 3, 2, 3]
    assert [row["step"] for row in rows if row["name"] == "gemm"] == [1, 2, 3]
    ranges = [(row["name"], row["step"]) for row in rows if row["name"].startswith("Profiler")]
    assert all(name == f"ProfilerStep#{step}" for name, step in ranges)
    assert len(ranges) == 6


@pytest.mark.parametrize("category", ["Operator", "cpu_op", "user_annotation"])
def test_host_collectives_have_had_the_category_of_operators(category: str, tmp_path: Path) -> None:
    events = [
        complete(category, "gloo:all_reduce", 1_000, 50, pid=100, **{"External id": 3}),
        complete(category, "nccl:all_reduce", 2_000, 50, pid=100, **{"External id": 4}),  # only the enqueueing
    ]
    reading = opened(tmp_path, events)
    assert [(row["slice"], row["kind"]) for row in reading.rows("collectives")] == [(0, "all_reduce")]


def test_the_mark_at_the_end_of_the_window_does_not_lengthen_the_trace(tmp_path: Path) -> None:
    hour_ns = 3_600 * 10**9
    events = [
        operator("a", 1_000_000_000, 20_000),
        operator("b", 1_000_100_000, 20_000),
        window_end(1_000_000_000 + hour_ns),
    ]
    reading = opened(tmp_path, events)
    (rank,) = reading.rows("ranks")
    assert (rank["first_ns"], rank["last_ns"]) == (1_000_000_000, 1_000_120_000)
    (step,) = reading.rows("steps")
    assert (step["host_start_ns"], step["host_end_ns"]) == (1_000_000_000, 1_000_120_001)
    assert reading.named("Record Window End")["step"] is None


def test_a_trace_of_nothing_but_marks_extends_over_them(tmp_path: Path) -> None:
    (rank,) = opened(tmp_path, [window_end(1_000), window_end(5_000)]).rows("ranks")
    assert (rank["first_ns"], rank["last_ns"]) == (1_000, 5_000)


def test_the_note_on_absent_marks_names_the_schedule_without_which_none_are_written(tmp_path: Path) -> None:
    (note,) = opened(tmp_path, [annotation("forward", 1_000, 10)]).notes
    assert note.code == "no_step_marks"
    assert "schedule" in note.sentence("en")
    assert "schedule" in note.sentence("zh")


def test_steps_of_a_second_loop_are_told_apart(tmp_path: Path) -> None:
    """Two loops of two steps, both counted from 0; each step launches one kernel."""
    events = []
    for place, (step, start) in enumerate(((0, 1_000_000), (1, 2_000_000), (0, 7_000_000), (1, 8_000_000))):
        events += [
            annotation(f"ProfilerStep#{step}", start, 900_000),
            call("cudaLaunchKernel", start + 150_000, 20_000, place),
            kernel("gemm", start + 200_000, 40_000, place),
        ]
    reading = opened(tmp_path, events)
    found = [(row["step"], row["device_start_ns"], row["device_end_ns"]) for row in reading.rows("steps")]
    starts = (1_200_000, 2_200_000, 7_200_000, 8_200_000)
    assert found == [(place, start, start + 40_000) for place, start in enumerate(starts)]
    assert [row["step"] for row in reading.rows("slices") if row["name"] == "gemm"] == [0, 1, 2, 3]
    assert reading.codes == {"step_numbers_repeat": 2}
