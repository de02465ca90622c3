"""The flame graph of a window, against slices that are counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS, random_run
from stepscope.analysis.timeline.brief import briefs_of
from stepscope.analysis.timeline.flame import flame
from stepscope.analysis.timeline.rows import RowRange
from stepscope.analysis.timeline.view import TimelineView


def _slice(row: int, at: int, dur: int, name: str, parent: int | None) -> dict[str, Any]:
    known = {} if parent is None else {"parent": parent}
    return {"row": row, "start_ns": BASE_NS + at, "dur_ns": dur, "name": name, "kind": "operator"} | known


def _view(directory: Path) -> TimelineView:
    """forward 0..100 and 200..300, each with mm; the second holds add too, and mm inside add."""
    slices = [
        _slice(0, 0, 100, "forward", None),
        _slice(1, 10, 30, "mm", 0),
        _slice(0, 200, 100, "forward", None),
        _slice(1, 210, 20, "mm", 2),
        _slice(1, 240, 50, "add", 2),
        _slice(2, 250, 15, "mm", 4),
    ]
    return TimelineView(make_store(directory, slices=slices, ranks=[{"rank": 0, "first_ns": BASE_NS}]))


def test_slices_of_one_name_and_caller_are_one_node(tmp_path: Path) -> None:
    answer = flame(_view(tmp_path), 0, 1000, [RowRange(0)])
    told = {(node.name, node.depth): (node.count, node.total_ns, node.self_ns) for node in answer.nodes}
    assert told == {
        ("forward", 0): (2, 200, 100),
        ("mm", 1): (2, 50, 50),
        ("add", 1): (1, 50, 35),
        ("mm", 2): (1, 15, 15),
    }
    assert answer.total_ns == 200
    for node in answer.nodes:
        assert node.parent is None or answer.nodes[node.parent].depth == node.depth - 1


def test_times_end_at_the_window_and_rows_that_were_not_chosen_are_passed_over(tmp_path: Path) -> None:
    answer = flame(_view(tmp_path), 20, 255, [RowRange(0, 0, 0), RowRange(0, 2, 2)])
    told = {(node.name, node.depth): (node.count, node.total_ns) for node in answer.nodes}
    assert told == {("forward", 0): (2, 80 + 55), ("mm", 1): (1, 5)}


def test_of_many_nodes_the_longest_are_reported_with_their_callers(tmp_path: Path) -> None:
    answer = flame(_view(tmp_path), 245, 266, [RowRange(0)], limit=1)
    assert [(node.name, node.parent) for node in answer.nodes] == [("forward", None)]
    assert answer.nodes_total == 3


@pytest.mark.parametrize("seed", range(3))
def test_self_times_add_up_to_what_lies_outermost(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed)
    answer = flame(made.view, -(10**9), 10**9, [RowRange(0)])
    outermost = sum(one.dur for one in made.slices if one.parent is None)
    assert answer.total_ns == outermost
    assert sum(node.count for node in answer.nodes) == len(made.slices)


def test_slices_are_found_in_the_order_asked_for(tmp_path: Path) -> None:
    found = briefs_of(_view(tmp_path), [(0, 4), (0, 99), (0, 1)])
    assert [(each.name, each.row, each.at_ns) for each in found] == [("add", 1, 240), ("mm", 1, 10)]
