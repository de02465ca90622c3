"""Periods of steps and how they divide; by hand, and against a twin that goes microsecond by microsecond."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.steps import steps
from stepscope.analysis.summary import summary
from stepscope.store.run_store import RunStore
from stepscope.texts import LANGUAGES

_PARTS = (
    "device_span_us",
    "computing_us",
    "communication_us",
    "exposed_communication_us",
    "exposed_copy_us",
    "free_us",
)


def _run(directory: Path, marks: list[tuple[int, int]], kernels: list[tuple[int, int, int]], **more: Any) -> RunStore:
    """Marks and kernels (step, start, end) in microseconds; step -1 is none."""
    return make_store(
        directory,
        steps=[
            {"step": number, "host_start_ns": start * 1000, "host_end_ns": end * 1000}
            for number, (start, end) in enumerate(marks)
        ],
        slices=[
            {
                "kind": "kernel",
                "name": "k",
                "step": None if step < 0 else step,
                "start_ns": start * 1000,
                "dur_ns": (end - start) * 1000,
            }
            for step, start, end in kernels
        ],
        tracks=[{"track": 0, "kind": "stream"}],
        **more,
    )


def _thousands(count: int) -> list[tuple[int, int]]:
    return [(number * 1000, number * 1000 + 1000) for number in range(count)]


def _periods(store: RunStore) -> list[tuple[int, int]]:
    periods = periods_of(store, 0)
    return list(zip((periods.start // 1000).tolist(), (periods.end // 1000).tolist(), strict=True))


def test_steps_of_which_no_kernel_was_recorded_are_unknown(tmp_path: Path) -> None:
    """MindInsight keeps the kernels of a few steps: here 15 of 322, each busy for 900 of 1000 us."""
    store = _run(tmp_path, _thousands(322), [(step, step * 1000, step * 1000 + 900) for step in range(100, 115)])
    rows = steps(store).data
    assert rows.filter(pl.col("idle_us").is_null()).height == 322 - 15
    (entry,) = summary(store).data.ranks
    assert entry.steps == 15
    assert entry.computing_us == pytest.approx(900)
    assert entry.idle_us is not None
    assert entry.idle_us < 1000 * 0.11


def test_steps_that_launch_nothing_are_idle_and_not_unknown(tmp_path: Path) -> None:
    # Steps 1, 3, 5 and 6 of seven stall; the others are busy for 990 of 1000 us.
    store = _run(tmp_path, _thousands(7), [(step, step * 1000 + 5, step * 1000 + 995) for step in (0, 2, 4)])
    rows = steps(store).data.to_dicts()
    for row in rows:
        busy = row["step"] in (0, 2, 4)
        assert [row[name] for name in _PARTS] == [990.0 if busy and place < 2 else 0.0 for place in range(len(_PARTS))]
        assert row["preparing_us"] == (5.0 if busy else None), "nothing tells when a stalled step would have begun"
    # A stall ends with its mark; the next step begins there.
    assert _periods(store) == [
        (0, 995), (995, 2000), (2000, 2995), (2995, 4000), (4000, 4995), (4995, 6000), (6000, 7000),
    ]  # fmt: skip
    assert [row["idle_us"] for row in rows] == [5.0, 1005.0, 5.0, 1005.0, 5.0, 1005.0, 1000.0]
    answer = summary(store).data
    (entry,) = answer.ranks
    assert entry.steps == 7
    assert [entry.computing_us, entry.idle_us] == pytest.approx([3 * 990 / 7, 4030 / 7])
    assert answer.delimitation is not None
    assert answer.delimitation.free.share == pytest.approx(4030 / 7000, abs=1e-6)
    assert answer.delimitation.free.flagged


def test_where_most_steps_have_no_work_it_was_not_recorded(tmp_path: Path) -> None:
    store = _run(tmp_path, _thousands(12), [(0, 100, 900), (1, 1100, 1900)])
    rows = steps(store).data.to_dicts()
    assert [row["computing_us"] for row in rows] == [800.0, 800.0, *[None] * 10]
    (entry,) = summary(store).data.ranks
    assert (entry.steps, entry.computing_us) == (2, 800.0)


def test_a_stall_between_training_steps_counts(tmp_path: Path) -> None:
    kernels = [(step, step * 1000 + 5, step * 1000 + 995) for step in (0, 2, 3)]
    store = _run(tmp_path, _thousands(4), kernels)
    marks = (
        store.scan("steps")
        .collect()
        .with_columns(
            forward_start_ns=pl.when(pl.col("step") != 1).then(pl.col("host_start_ns") + 5000),
            backward_end_ns=pl.when(pl.col("step") != 1).then(pl.col("host_start_ns") + 900_000),
        )
    )
    trained = make_store(tmp_path / "trained", slices=store.scan("slices").collect(), steps=marks)
    (entry,) = summary(trained).data.ranks
    assert (entry.steps, entry.computing_us, entry.statistics.mode) == (4, 742.5, "training")


def test_where_no_step_computes_nothing_is_known(tmp_path: Path) -> None:
    store = _run(tmp_path, _thousands(2), [])
    assert {row[name] for row in steps(store).data.to_dicts() for name in (*_PARTS, "idle_us")} == {None}
    assert [row["period_us"] for row in steps(store).data.to_dicts()] == [1000.0, 1000.0]
    assert summary(store).data.delimitation is None


def test_a_host_that_runs_ahead_shortens_no_period(tmp_path: Path) -> None:
    # Four marks of 100 us; the device works 960 us for each, one behind the other.
    kernels = [(step, 30 + step * 960, 30 + (step + 1) * 960) for step in range(4)]
    store = _run(tmp_path, [(step * 100, step * 100 + 100) for step in range(4)], kernels)
    rows = steps(store).data.to_dicts()
    assert {row["duration_us"] for row in rows} == {100.0}
    assert [row["period_us"] for row in rows] == [990.0, 960.0, 960.0, 960.0]
    assert [row["idle_us"] for row in rows] == [30.0, 0.0, 0.0, 0.0]
    assert _periods(store) == [(0, 990), (990, 1950), (1950, 2910), (2910, 3870)]
    for answer in (steps(store), summary(store)):
        (note,) = answer.notes
        assert (note.code, note.rank, note.params) == ("host_ran_ahead", 0, {"mark": "0.100", "device": "0.960"})
        assert all("0.960 ms" in note.sentence(lang) for lang in LANGUAGES)


@pytest.mark.parametrize(
    ("kernels", "why"),
    [
        ([(step, step * 1000 + 30, step * 1000 + 990) for step in range(4)], "the device keeps pace"),
        ([(step, step * 1000 + 630, step * 1000 + 1600) for step in range(4)], "it lags behind, but no further"),
        ([], "nothing ran on a device"),
    ],
)
def test_there_is_no_note_where_the_host_does_not(
    tmp_path: Path, kernels: list[tuple[int, int, int]], why: str
) -> None:
    notes = steps(_run(tmp_path, _thousands(4), kernels)).notes
    assert "host_ran_ahead" not in {note.code for note in notes}, why


def test_work_from_before_the_window_is_reported_and_delays_the_first_period(tmp_path: Path) -> None:
    # The device is busy until 400 with what was launched before; 100 us of idle time follow, then the step's own work.
    store = _run(
        tmp_path,
        [(0, 300), (300, 900)],
        [(-1, 10, 400), (0, 500, 700), (1, 700, 900)],
        links=[{"kind": "launch", "from_slice": 99, "to_slice": slice_number} for slice_number in (1, 2)],
    )
    rows = steps(store).data.to_dicts()
    assert _periods(store) == [(400, 700), (700, 900)]
    assert [(row["computing_us"], row["idle_us"], row["overlap_us"]) for row in rows] == [(200, 100, 0), (200, 0, 0)]
    (entry,) = summary(store).data.ranks
    assert entry.before_window_us == 390.0


@pytest.mark.parametrize("seed", range(30))
def test_periods_and_their_parts_equal_those_found_microsecond_by_microsecond(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    marks, at = [], 0
    for _ in range(chance.randrange(1, 8)):
        at += chance.randrange(0, 50)
        marks.append((at, at := at + chance.randrange(1, 100)))
    kernels = []
    for number in range(len(marks)):
        for _ in range(chance.randrange(1, 6)):
            begin = chance.randrange(800)
            kernels.append((number, begin, begin + chance.randrange(1, 60)))
    kernels += [(-1, begin, begin + 20) for begin in (chance.randrange(800) for _ in range(chance.randrange(3)))]
    rows = steps(_run(tmp_path, marks, kernels)).data.to_dicts()
    busy = {moment for _, begin, end in kernels for moment in range(begin, end)}
    reached = marks[0][0]
    for row, (number, _) in zip(rows, enumerate(marks), strict=True):
        own = {moment for step, begin, end in kernels if step == number for moment in range(begin, end)}
        end = max(reached, max(own) + 1) if number else max(own) + 1
        start = min(reached, end)
        idle = sum(moment not in busy for moment in range(start, end))
        assert row["period_start_ns"] == start * 1000
        assert (row["period_us"], row["computing_us"], row["idle_us"]) == (end - start, len(own), idle)
        assert row["overlap_us"] == end - start - len(own) - idle
        assert sum(row["idle_by_cause"].values()) == idle
        reached = end


@pytest.mark.parametrize(("processes", "devices"), [(("gpu 0", "gpu 0"), 0), (("gpu 0", "gpu 1"), 2)])
def test_a_process_that_computes_on_several_devices_is_reported(
    processes: tuple[str, str], devices: int, tmp_path: Path
) -> None:
    store = make_store(
        tmp_path,
        steps=[{"step": 0, "host_start_ns": 0, "host_end_ns": 1_000_000}],
        slices=[
            {"kind": "kernel", "name": "k", "step": 0, "track": track, "start_ns": track * 1000, "dur_ns": 500}
            for track in (0, 1)
        ],
        tracks=[{"track": track, "kind": "stream", "process": process} for track, process in enumerate(processes)],
    )
    assert [note.count for note in steps(store).notes if note.code == "several_devices"] == [devices] * (devices > 1)
