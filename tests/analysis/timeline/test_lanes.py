"""Merged lanes against a count of every nanosecond; the parts always fill the span."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS
from analysis.timeline.test_tiles import decoded
from stepscope.analysis.timeline import wire
from stepscope.analysis.timeline.lanes import LANES, lane_totals
from stepscope.analysis.timeline.view import TimelineView

_PARTS = ("computing", "exposed_communication", "exposed_copy", "free")


def _random_work(directory: Path, seed: int) -> tuple[TimelineView, list[tuple[str, int, int]]]:
    dice = random.Random(seed)
    work = [(dice.choice(("kernel", "collective", "copy")), dice.randrange(900), dice.randrange(40)) for _ in range(40)]
    slices = [
        {"track": 1, "row": row, "start_ns": BASE_NS + at, "dur_ns": dur, "name": "n", "kind": kind}
        for row, (kind, at, dur) in enumerate(work)
    ]
    tracks = [{"track": 1, "kind": "stream", "name": "stream", "order": 0}]
    return TimelineView(
        make_store(directory, slices=slices, tracks=tracks, ranks=[{"rank": 0, "first_ns": BASE_NS}])
    ), work


def _lane_at(work: list[tuple[str, int, int]], moment: int) -> set[str]:
    kinds = {kind for kind, at, dur in work if at <= moment < at + dur}
    found = {"computing"} if "kernel" in kinds else set()
    if "collective" in kinds:
        found |= {"communication"} | ({"exposed_communication"} if "kernel" not in kinds else set())
    if kinds == {"copy"}:
        found.add("exposed_copy")
    return found or {"free"}


@pytest.mark.parametrize("seed", range(6))
def test_each_nanosecond_lies_in_its_lanes(tmp_path: Path, seed: int) -> None:
    view, work = _random_work(tmp_path, seed)
    busy = [(at, at + dur) for _, at, dur in work if dur]
    first, last = min(at for at, _ in busy), max(end for _, end in busy)
    for start, end in ((None, None), (100, 555), (first - 50, last + 50), (300, 300)):
        low, high = max(first, start or first), min(last, last if end is None else end)
        (found,) = lane_totals(view, None, start, end).ranks
        expected = dict.fromkeys(LANES, 0)
        for moment in range(low, high):
            for lane in _lane_at(work, moment):
                expected[lane] += 1
        assert found.total_ns == expected
        assert sum(found.total_ns[part] for part in _PARTS) == found.span_dur_ns == max(0, high - low)


def test_lanes_are_drawn_as_tiles(tmp_path: Path) -> None:
    view, work = _random_work(tmp_path, 1)
    items = decoded(wire.slice_tiles(view, [wire.TileKey(0, -1, 0, 0)]), [])[0]
    painted: dict[int, set[str]] = {}
    for item in items:
        for moment in range(int(item.x0), int(item.x1)):
            painted.setdefault(moment, set()).add(LANES[item.row])
    first, last = min(painted), max(painted)
    assert all(painted[moment] == _lane_at(work, moment) for moment in range(first, last + 1))


def test_a_run_without_work_has_no_lanes(tmp_path: Path) -> None:
    slices = [{"start_ns": BASE_NS, "dur_ns": 5, "name": "n", "kind": "annotation"}]
    (found,) = lane_totals(TimelineView(make_store(tmp_path, slices=slices)), None).ranks
    assert (found.span_dur_ns, set(found.total_ns.values())) == (0, {0})


def test_a_host_computes_around_the_operators_inside_others_as_well(tmp_path: Path) -> None:
    """addmm 0..100 holds mm 20..60; a collective 120..160 lies within its own operator 110..170; free is 100..110."""
    nested = [
        ("operator", 0, 0, 100, None),
        ("operator", 1, 20, 40, 0),
        ("operator", 0, 110, 60, None),
        ("collective", 1, 120, 40, 2),
    ]
    slices = [
        {
            "slice": number,
            "track": 1,
            "row": row,
            "start_ns": BASE_NS + at,
            "dur_ns": dur,
            "name": "aten::op",
            "kind": kind,
            "parent": parent,
        }
        for number, (kind, row, at, dur, parent) in enumerate(nested)
    ]
    tracks = [{"track": 1, "kind": "thread", "name": "main", "order": 0}]
    store = make_store(tmp_path, slices=slices, tracks=tracks, ranks=[{"rank": 0, "first_ns": BASE_NS}])
    (found,) = lane_totals(TimelineView(store), None).ranks
    assert not found.on_device
    assert found.total_ns == {
        "computing": 100 + 10 + 10,
        "communication": 40,
        "exposed_communication": 40,
        "exposed_copy": 0,
        "free": 10,
    }
    assert found.span_dur_ns == 170
