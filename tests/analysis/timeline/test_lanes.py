"""Merged lanes against a count of every nanosecond; the parts always fill the span."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS
from analysis.timeline.test_tiles import decoded
from stepscope.analysis.timeline import wire
from stepscope.analysis.timeline.lanes import IDLE_CAUSES, LANES, lane_totals
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
        assert sum(found.idle_ns.values()) == found.idle_ns["unknown"] == expected["free"]
        assert sum(found.total_ns[part] for part in _PARTS) == found.span_dur_ns == max(0, high - low)


def test_lanes_are_drawn_as_tiles(tmp_path: Path) -> None:
    view, work = _random_work(tmp_path, 1)
    items = decoded(wire.slice_tiles(view, [wire.TileKey(0, -1, 0, 0)]), [])[0]
    painted: dict[int, set[str]] = {}
    state: dict[int, list[int]] = {}
    for item in items:
        for moment in range(int(item.x0), int(item.x1)):
            if item.row < len(LANES):
                painted.setdefault(moment, set()).add(LANES[item.row])
            else:
                state.setdefault(moment, []).append(int(item.name))
    first, last = min(painted), max(painted)
    assert all(painted[moment] == _lane_at(work, moment) for moment in range(first, last + 1))
    # At each moment the rank is in one state; without steps nobody knows why it is idle.
    unknown = len(LANES) + IDLE_CAUSES.index("unknown")
    expected = [LANES.index(lane) for lane in _PARTS[:-1]]
    for moment in range(first, last + 1):
        (name,) = state[moment]
        of_lanes = [number for number in expected if LANES[number] in _lane_at(work, moment)]
        assert name == (of_lanes[0] if of_lanes else unknown)


def test_idle_time_is_named_by_its_cause(tmp_path: Path) -> None:
    """One step of 1000: a batch is loaded until 400, launched at 410; the kernel runs 420..1000."""
    host: dict[str, Any] = {"track": 0, "row": 0, "step": 1}
    loading = {"name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "kind": "annotation"}
    slices = [
        host | {"start_ns": BASE_NS, "dur_ns": 1_000_000, "name": "ProfilerStep#1", "kind": "step"},
        host | loading | {"row": 1, "start_ns": BASE_NS, "dur_ns": 400_000},
        host | {"row": 1, "start_ns": BASE_NS + 410_000, "dur_ns": 5_000, "name": "launch", "kind": "runtime"},
        {"track": 1, "row": 0, "step": 1, "start_ns": BASE_NS + 420_000, "dur_ns": 580_000}
        | {"name": "gemm", "kind": "kernel"},
    ]
    tracks = [{"track": 0, "kind": "host", "order": 0}, {"track": 1, "kind": "stream", "order": 1}]
    steps = [{"step": 1, "host_start_ns": BASE_NS, "host_end_ns": BASE_NS + 1_000_000}]
    links = [{"kind": "launch", "from_slice": 2, "to_slice": 3}]
    facts = [{"rank": 0, "first_ns": BASE_NS, "last_ns": BASE_NS + 1_000_000}]
    store = make_store(tmp_path, slices=slices, tracks=tracks, steps=steps, links=links, ranks=facts)
    lanes = TimelineView(store).lanes(0)
    idle = lanes.lanes[LANES.index("free")]
    assert (idle.start.tolist(), idle.end.tolist()) == ([0], [420_000])
    assert [IDLE_CAUSES[cause] for cause in lanes.idle_cause] == ["data"]
    (found,) = lane_totals(TimelineView(store), None, 100_000, 500_000).ranks
    assert {cause: spent for cause, spent in found.idle_ns.items() if spent} == {"data": 320_000}


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
