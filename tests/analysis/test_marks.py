"""Ranges and marks of the user's code by name and rank, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.stores import make_store
from stepscope.analysis.marks import marks
from stepscope.errors import NoAnswerError


def _row(rank: int, name: str, start: int, end: int, step: int | None, kind: str = "annotation") -> dict[str, object]:
    row = {"rank": rank, "track": 5, "name": name, "type": "train", "kind": kind, "step": step}
    return row | {"start_ns": start, "dur_ns": end - start}


def test_ranges_are_counted_by_name_and_rank(tmp_path: Path) -> None:
    rows = [
        _row(0, "forward", 0, 4000, 1),
        _row(0, "forward", 10_000, 16_000, 2),
        _row(0, "forward", 30_000, 30_500, None),
        _row(0, "saved", 16_500, 16_500, 2, "mark"),
        _row(1, "forward", 0, 9000, 1),
    ]
    other = {"rank": 0, "track": 1, "name": "forward", "kind": "annotation", "start_ns": 0, "dur_ns": 77}
    tracks = [{"rank": rank, "track": 5, "kind": "annotation", "name": "train 1", "process": "mstx"} for rank in (0, 1)]
    tracks.append({"rank": 0, "track": 1, "kind": "host", "name": "Thread 1", "process": "python"})
    steps = [
        {"rank": rank, "step": step, "host_start_ns": step * 10_000 - 10_000, "host_end_ns": step * 10_000}
        for rank in (0, 1)
        for step in (1, 2)
    ]
    store = make_store(tmp_path, slices=[*rows, other], tracks=tracks, steps=steps)
    shown = marks(store).data.select("rank", "name", "domain", "kind", "count", "total_us", "max_us", "per_step_us")
    assert shown.rows() == [
        (0, "forward", "train", "range", 3, 10.5, 6.0, 5.0),
        (0, "saved", "train", "mark", 1, 0.0, 0.0, 0.0),
        (1, "forward", "train", "range", 1, 9.0, 9.0, 4.5),
    ]
    assert marks(store, ranks=[0], steps=[2]).data["total_us"].to_list() == [6.0, 0.0]


def test_a_capture_without_marks_says_how_to_set_them(tmp_path: Path) -> None:
    store = make_store(tmp_path, slices=[{"kind": "operator", "name": "a", "start_ns": 0, "dur_ns": 1}])
    with pytest.raises(NoAnswerError, match="mstx=True"):
        marks(store)
