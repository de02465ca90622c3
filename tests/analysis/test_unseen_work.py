"""Work from before the window that the file does not show: by hand."""

from __future__ import annotations

from pathlib import Path

from analysis.stores import make_store
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.steps import steps
from stepscope.store.run_store import RunStore
from stepscope.texts import LANGUAGES

#: Start and end of the launching call and of its kernel, in microseconds, with the kernel's stream.
Launch = tuple[tuple[int, int], tuple[int, int], int]


def _times(span: tuple[int, int]) -> dict[str, int]:
    return {"start_ns": span[0] * 1000, "dur_ns": (span[1] - span[0]) * 1000}


def _forward(launches: list[Launch]) -> dict[str, int]:
    return {"forward_start_ns": min(kernel[0] for _, kernel, _ in launches) * 1000}


def _run(directory: Path, launches: list[Launch], mark: tuple[int, int]) -> RunStore:
    slices, links = [], []
    for call, kernel, stream in launches:
        slices.append({"kind": "runtime", "name": "hipLaunchKernel", "track": 0, "step": 0, **_times(call)})
        slices.append({"kind": "kernel", "name": "gemm", "track": stream, "step": 0, **_times(kernel)})
        links.append({"kind": "launch", "from_slice": len(slices) - 2, "to_slice": len(slices) - 1})
    return make_store(
        directory,
        steps=[{"step": 0, "host_start_ns": mark[0] * 1000, "host_end_ns": mark[1] * 1000, **_forward(launches)}],
        slices=slices,
        links=links,
        tracks=[{"track": 0, "kind": "thread"}] + [{"track": stream, "kind": "stream"} for stream in (1, 2, 3)],
    )


def test_a_stream_that_does_not_begin_is_held_by_unseen_work(tmp_path: Path) -> None:
    # A small kernel on a stream of its own runs at once; those of stream 2 begin 90 ms after their launch.
    launches = [
        ((0, 10), (20, 24), 1),
        ((30, 40), (90_040, 90_540), 2),
        ((50, 60), (90_600, 91_000), 2),
    ]
    store = _run(tmp_path, launches, (0, 90_100))
    periods = periods_of(store, 0)
    assert periods.unseen == (40_000, 90_040_000)
    assert (periods.start.tolist(), periods.end.tolist()) == ([90_040_000], [91_000_000])
    answer = steps(store)
    (row,) = answer.data.to_dicts()
    assert (row["period_us"], row["computing_us"], row["idle_us"], row["overlap_us"]) == (960.0, 904.0, 60.0, -4.0)
    assert (row["interval_us"], row["forward_backward_us"]) == (0.0, 960.0)
    (note,) = [note for note in answer.notes if note.code == "device_held_by_unseen_work"]
    assert note.params == {"time": "90.000"}
    assert all("90.000" in note.sentence(language) for language in LANGUAGES)


def test_the_very_first_work_may_be_held_too(tmp_path: Path) -> None:
    # Launched at 10 us, it begins 8 ms later, and nothing recorded ran before.
    store = _run(tmp_path, [((0, 10), (8_010, 8_900), 1), ((20, 30), (8_900, 9_500), 1)], (0, 100))
    assert periods_of(store, 0).unseen == (10_000, 8_010_000)
    (row,) = steps(store).data.to_dicts()
    assert (row["period_us"], row["computing_us"], row["idle_us"]) == (1490.0, 1490.0, 0.0)


def test_a_lag_that_is_small_for_the_step_is_its_own(tmp_path: Path) -> None:
    # Launched at 10 us, it begins 5 ms later; the step's work goes on until 141 ms.
    store = _run(tmp_path, [((0, 10), (5_010, 100_000), 1), ((20, 30), (100_000, 141_000), 1)], (0, 100))
    assert periods_of(store, 0).unseen == (0, 0)
    (row,) = steps(store).data.to_dicts()
    assert (row["period_us"], row["idle_us"]) == (141_000.0, 5_010.0)


def test_a_stream_that_waits_for_another_is_not_held(tmp_path: Path) -> None:
    # Stream 2 was told to wait for the kernel of stream 1, which runs for 50 ms.
    store = _run(tmp_path, [((0, 10), (15, 50_000), 1), ((20, 30), (50_005, 50_100), 2)], (0, 50_200))
    assert periods_of(store, 0).unseen == (0, 0)
    assert periods_of(store, 0).start.tolist() == [0]


def test_a_stream_that_begins_while_another_works_is_not_held(tmp_path: Path) -> None:
    store = _run(
        tmp_path, [((0, 10), (15, 20), 1), ((20, 30), (40, 9_000), 2), ((35, 38), (7_000, 7_100), 3)], (0, 9_100)
    )
    assert periods_of(store, 0).unseen == (0, 0)
    assert periods_of(store, 0).start.tolist() == [0]


def test_a_late_launch_is_the_hosts_and_nobody_elses(tmp_path: Path) -> None:
    store = _run(tmp_path, [((0, 10), (15, 20), 1), ((70_000, 70_010), (70_015, 70_100), 2)], (0, 70_200))
    assert periods_of(store, 0).unseen == (0, 0)
    (row,) = steps(store).data.to_dicts()
    assert row["idle_us"] == 15 + 69_995


def test_later_waits_of_a_stream_are_idle_time(tmp_path: Path) -> None:
    # Only the first slice of a stream may wait for what is not in the file.
    store = _run(tmp_path, [((0, 10), (15, 20), 1), ((20, 30), (40_020, 40_100), 1)], (0, 40_200))
    assert periods_of(store, 0).unseen == (0, 0)
