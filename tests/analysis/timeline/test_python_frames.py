"""Python frames lie on tracks of their own, and nobody's numbers change by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS
from stepscope.analysis.timeline.range_stats import range_stats
from stepscope.analysis.timeline.rows import RowRange
from stepscope.analysis.timeline.slice_details import slice_details
from stepscope.analysis.timeline.tracks import tracks
from stepscope.analysis.timeline.view import TimelineView


def _slice(row: int, at: int, dur: int, name: str, kind: str, parent: int | None = None) -> dict[str, Any]:
    return {"track": 3, "row": row, "start_ns": BASE_NS + at, "dur_ns": dur, "name": name, "kind": kind} | (
        {} if parent is None else {"parent": parent}
    )


#: main > forward > aten::linear > (aten::mm, a frame inside it); and a launch deep below another frame.
_THREAD = [
    _slice(0, 0, 100, "main", "python"),
    _slice(1, 10, 50, "forward", "python", 0),
    _slice(1, 70, 20, "step", "python", 0),
    _slice(2, 20, 30, "aten::linear", "operator", 1),
    _slice(2, 75, 10, "cudaLaunchKernel", "runtime", 2),
    _slice(3, 25, 5, "aten::mm", "operator", 3),
    _slice(3, 35, 10, "hook", "python", 3),
]


def _view(directory: Path) -> TimelineView:
    stated = [{"track": 3, "kind": "host", "name": "thread 7", "process": "python", "order": 0}]
    facts = [{"rank": 0, "first_ns": BASE_NS, "last_ns": BASE_NS + 100}]
    return TimelineView(make_store(directory, slices=_THREAD, tracks=stated, ranks=facts))


def test_operators_are_as_deep_as_they_nest_and_frames_stand_apart(tmp_path: Path) -> None:
    view = _view(tmp_path)
    thread, frames = tracks(view, [0]).ranks[0].groups
    assert (thread.kind, [track.name for track in thread.tracks], thread.tracks[0].rows) == ("host", ["thread 7"], 2)
    assert (frames.kind, [track.name for track in frames.tracks], frames.tracks[0].rows) == ("python", ["thread 7"], 3)
    depth = {one.name: one.depth for one in (slice_details(view, 0, number) for number in range(len(_THREAD)))}
    assert depth == {"main": 0, "forward": 1, "step": 1, "hook": 2} | {
        "aten::linear": 0,
        "cudaLaunchKernel": 0,
        "aten::mm": 1,
    }


def test_self_times_count_what_lies_inside_on_the_other_track(tmp_path: Path) -> None:
    view = _view(tmp_path)
    expected = {"main": 30, "forward": 20, "step": 10, "hook": 10} | {
        "aten::linear": 15,
        "cudaLaunchKernel": 10,
        "aten::mm": 5,
    }
    entries = range_stats(view, 0, 100, [RowRange(0)]).entries
    assert {entry.name: entry.self_ns for entry in entries} == expected
    # The same where only the rows of the operators, or only those of the frames, are asked for.
    for group in tracks(view, [0]).ranks[0].groups:
        (track,) = group.tracks
        rows = RowRange(0, track.first_row, track.first_row + track.rows - 1)
        own = {entry.name: entry.self_ns for entry in range_stats(view, 0, 100, [rows]).entries}
        assert own.items() <= {str(name): own_time for name, own_time in expected.items()}.items()


def test_a_slice_still_knows_the_frames_around_it(tmp_path: Path) -> None:
    parents = slice_details(_view(tmp_path), 0, 5).parents
    assert [one.name for one in parents] == ["main", "forward", "aten::linear"]
