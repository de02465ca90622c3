"""What questions share: worked out once per store and rank, bounded, read-only, and never another run's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analysis.stores import make_store
from stepscope.analysis.foundation import rank_cache, rank_tables
from stepscope.analysis.foundation.byte_cache import ByteCache
from stepscope.analysis.foundation.rank_tables import COLUMNS, links_of, slices_of
from stepscope.analysis.foundation.work import work_of
from stepscope.arrays import Int64s
from stepscope.errors import StepscopeError
from stepscope.questions import QUESTIONS
from stepscope.store.run_store import RunStore, open_store


def _run(directory: Path, durations: tuple[int, ...] = (30, 50)) -> RunStore:
    """Two ranks with one kernel per step, each launched by a call of the host."""
    slices, links, steps = [], [], []
    for rank in (0, 1):
        for number, duration in enumerate(durations):
            start, step = 1000 * number, number + 1
            common = {"rank": rank, "step": step}
            slices += [
                {**common, "slice": 2 * number, "track": 0, "kind": "runtime", "name": "cudaLaunchKernel"}
                | {"start_ns": start + 10, "dur_ns": 5},
                {**common, "slice": 2 * number + 1, "track": 7, "kind": "kernel", "name": "gemm"}
                | {"start_ns": start + 20, "dur_ns": duration + rank},
            ]
            links.append({"rank": rank, "kind": "launch", "from_slice": 2 * number, "to_slice": 2 * number + 1})
            steps.append({**common, "host_start_ns": start, "host_end_ns": start + 1000, "marks_from": "hand"})
    tracks = [
        {"rank": rank, "track": track, "kind": kind} for rank in (0, 1) for track, kind in ((0, "host"), (7, "stream"))
    ]
    return make_store(directory, slices=slices, links=links, steps=steps, tracks=tracks)


def _counting(result: Callable[[int], Any]) -> tuple[Callable[[RunStore, int], Any], list[int]]:
    """A cached function, and the ranks for which it really worked."""
    asked: list[int] = []

    @rank_cache.cached_per_rank
    def worked_out(store: RunStore, rank: int) -> Any:
        asked.append(rank)
        return result(rank)

    return worked_out, asked


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> ByteCache:
    held = ByteCache(1000)
    monkeypatch.setattr(rank_cache, "_HELD", held)
    return held


def test_a_rank_is_worked_out_once(tmp_path: Path) -> None:
    store = _run(tmp_path)
    function, asked = _counting(lambda rank: np.arange(rank + 1))
    first = function(store, 0)
    assert function(store, 0) is first
    assert function(store, 1).tolist() == [0, 1]
    assert asked == [0, 1]


def test_functions_of_one_store_are_told_apart(tmp_path: Path) -> None:
    store = _run(tmp_path)
    assert len(work_of(store, 0).slice) == 2
    assert len(links_of(store, 0)) == 2
    assert work_of(store, 1).end.tolist() == [51, 1071]


def test_a_run_that_was_stored_again_finds_nothing_of_the_one_before(tmp_path: Path) -> None:
    assert work_of(_run(tmp_path), 0).end.tolist() == [50, 1070]
    assert work_of(_run(tmp_path, (40, 60)), 0).end.tolist() == [60, 1080]


def test_a_run_that_was_opened_again_stands_for_itself(tmp_path: Path) -> None:
    store, again = _run(tmp_path), open_store(tmp_path)
    assert again is not None
    assert again == store
    function, asked = _counting(lambda rank: rank)
    assert [function(store, 0), function(again, 0)] == [0, 0]
    assert asked == [0, 0]


def test_the_least_recently_used_goes_when_the_bound_is_reached(tmp_path: Path, _small: ByteCache) -> None:
    store = _run(tmp_path)
    function, asked = _counting(lambda rank: np.zeros(50, np.int64))  # 400 bytes
    for rank in (0, 1, 0, 2, 0, 1):
        function(store, rank)
        assert _small.held_bytes <= 1000
    assert asked == [0, 1, 2, 1]


def test_many_runs_do_not_hold_more_than_the_bound(tmp_path: Path, _small: ByteCache) -> None:
    for number in range(20):
        work_of(_run(tmp_path / str(number)), 0)
    assert 0 < _small.held_bytes <= 1000


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    store, attempts = _run(tmp_path), []

    @rank_cache.cached_per_rank
    def fails_once(store: RunStore, rank: int) -> int:
        attempts.append(rank)
        if len(attempts) == 1:
            raise OSError("the disk is gone")
        return rank

    with pytest.raises(OSError, match="the disk is gone"):
        fails_once(store, 0)
    assert fails_once(store, 0) == 0


def test_threads_that_ask_together_get_one_result(tmp_path: Path) -> None:
    store, together = _run(tmp_path), threading.Barrier(8)
    worked: list[int] = []

    @rank_cache.cached_per_rank
    def slow(store: RunStore, rank: int) -> Int64s:
        worked.append(rank)
        threading.Event().wait(0.05)
        return np.arange(3)

    def ask(_: int) -> Int64s:
        together.wait()
        return slow(store, 0)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ask, range(8)))
    assert worked == [0]
    assert all(result is results[0] for result in results)


def test_nobody_can_change_what_others_will_get(tmp_path: Path) -> None:
    store = _run(tmp_path)
    with pytest.raises(ValueError, match="read-only"):
        work_of(store, 0).start[0] = 5


def test_sizes_count_arrays_wherever_they_lie() -> None:
    row = np.zeros(10, np.int64)
    assert rank_cache.protected_bytes({"a": [row, (row, "text")], "b": pl.DataFrame({"x": row}), "c": None}) == 240


@pytest.mark.parametrize("most", [0, 10])
def test_slices_are_the_same_from_memory_and_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(rank_tables, "_MOST_ROWS", most)
    store = _run(tmp_path)
    assert_frame_equal(slices_of(store, 1).collect(), store.scan("slices", [1]).select(COLUMNS).collect())


def test_a_rank_without_slices_has_none(tmp_path: Path) -> None:
    store = make_store(tmp_path, steps=[{"step": 1, "host_start_ns": 0, "host_end_ns": 5}])
    assert slices_of(store, 0).collect().is_empty()
    assert links_of(store, 0).is_empty()


def test_answers_do_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    names = ("summary", "steps", "operators", "launches", "critical-path", "memory")

    def answer(store: RunStore, name: str) -> Any:
        try:
            return QUESTIONS[name].ask(store).plain()
        except StepscopeError as error:
            return str(error)

    alone = [answer(_run(tmp_path / name), name) for name in names]
    store = _run(tmp_path / "together")
    assert [answer(store, name) for name in names] == alone
    assert [answer(store, name) for name in reversed(names)] == alone[::-1]
