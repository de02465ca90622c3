"""Steps that stall, and a host that runs ahead of its device; numbers by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.step_pace import paced
from stepscope.analysis.foundation.work import work_of
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
    """Marks and kernels (step, start, end) in microseconds."""
    return make_store(
        directory,
        steps=[
            {"step": number, "host_start_ns": start * 1000, "host_end_ns": end * 1000}
            for number, (start, end) in enumerate(marks)
        ],
        slices=[
            {"kind": "kernel", "name": "k", "step": step, "start_ns": start * 1000, "dur_ns": (end - start) * 1000}
            for step, start, end in kernels
        ],
        tracks=[{"track": 0, "kind": "stream"}],
        **more,
    )


def _thousands(count: int) -> list[tuple[int, int]]:
    return [(number * 1000, number * 1000 + 1000) for number in range(count)]


def test_steps_that_launch_nothing_are_idle_and_not_unknown(tmp_path: Path) -> None:
    # Steps 1, 3, 5 and 6 of seven stall; the others are busy for 990 of 1000 us.
    store = _run(tmp_path, _thousands(7), [(step, step * 1000 + 5, step * 1000 + 995) for step in (0, 2, 4)])
    rows = steps(store).data.to_dicts()
    for row in rows:
        busy = row["step"] in (0, 2, 4)
        assert [row[name] for name in _PARTS] == [990.0 if busy and place < 2 else 0.0 for place in range(len(_PARTS))]
        assert row["preparing_us"] == (5.0 if busy else None), "nothing tells when a stalled step would have begun"
    found = summary(store).data
    (entry,) = found.ranks
    assert (entry.steps, entry.computing_us, entry.idle_us) == (7, 0.0, 1000.0)
    assert found.delimitation is not None
    assert found.delimitation.free.share == 1.0
    assert found.delimitation.free.flagged


def test_a_stall_between_training_steps_is_named_and_leaves_their_medians(tmp_path: Path) -> None:
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
    assert (entry.steps, entry.computing_us, entry.statistics.other_mode_steps) == (3, 990.0, [1])


def test_where_no_step_computes_nothing_is_known(tmp_path: Path) -> None:
    store = _run(tmp_path, _thousands(2), [])
    assert {row[name] for row in steps(store).data.to_dicts() for name in _PARTS} == {None}
    assert summary(store).data.delimitation is None


def test_a_note_tells_of_a_host_that_runs_ahead(tmp_path: Path) -> None:
    # Four marks of 100 us; the device works 960 us for each, one behind the other.
    kernels = [(step, 30 + step * 960, 30 + (step + 1) * 960) for step in range(4)]
    store = _run(tmp_path, [(step * 100, step * 100 + 100) for step in range(4)], kernels)
    assert {row["duration_us"] for row in steps(store).data.to_dicts()} == {100.0}
    start, end = paced(step_marks(store, 0), work_of(store, 0))
    assert (start // 1000).tolist() == [0, 990, 1950, 2910]
    assert (end // 1000).tolist() == [990, 1950, 2910, 3870]
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
def test_there_is_none_where_the_host_does_not(tmp_path: Path, kernels: list[tuple[int, int, int]], why: str) -> None:
    notes = steps(_run(tmp_path, _thousands(4), kernels)).notes
    assert "host_ran_ahead" not in {note.code for note in notes}, why


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_steps_equal_those_found_one_by_one(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    marks, at = [], 0
    for _ in range(chance.randrange(1, 8)):
        at += chance.randrange(0, 50)
        marks.append((at, at := at + chance.randrange(1, 100)))
    kernels = []
    for _ in range(chance.randrange(30)):
        step, begin = chance.randrange(len(marks)), chance.randrange(800)
        kernels.append((step, begin, begin + chance.randrange(1, 60)))
    store = _run(tmp_path, marks, kernels)
    start, end = paced(step_marks(store, 0), work_of(store, 0))
    reached: int | None = None
    for number, (first, last) in enumerate(marks):
        done = max([last, *(stop for step, _, stop in kernels if step == number)])
        begun = first if reached is None else max(first, reached)
        reached = done if reached is None else max(reached, done)
        assert (int(start[number]) // 1000, int(end[number]) // 1000) == (begun, max(done, begun))


@pytest.mark.parametrize(("processes", "devices"), [(("gpu 0", "gpu 0"), 0), (("gpu 0", "gpu 1"), 2)])
def test_a_process_that_computes_on_several_devices_is_told_so(
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
