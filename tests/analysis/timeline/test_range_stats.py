"""Statistics of a window against a twin that adds up slice by slice and nanosecond by nanosecond."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS, Made, One, random_run
from stepscope.analysis.timeline.range_stats import range_stats
from stepscope.analysis.timeline.rows import RowRange
from stepscope.analysis.timeline.slice_details import slice_details
from stepscope.analysis.timeline.view import TimelineView


def _self(made: Made, one: One, start: int, end: int) -> int:
    children = [each for each in made.slices if each.rank == one.rank and each.parent == one.slice]
    return one.inside(start, end) - sum(each.inside(start, end) for each in children)


def _key(one: One, by: str) -> tuple[Any, ...]:
    return {"name": (one.name, one.kind), "kind": (one.kind,), "track": (one.rank, one.track)}[by]


@pytest.mark.parametrize("seed", range(8))
def test_sums_and_percentiles_are_those_of_every_slice(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed, ranks=2, slices=150)
    view = made.view
    dice = random.Random(seed)
    for by in ("name", "kind", "track"):
        start = dice.randrange(-10, 2_000)
        end = start + dice.choice((0, 1, 700, 40_000, 5_000_000))
        chosen = [RowRange(0, 1, dice.randrange(1, 9)), RowRange(0, 0, 2), RowRange(1)]
        rows = {(0, row) for each in chosen[:2] for row in range(each.first_row or 0, (each.last_row or 0) + 1)}
        wanted = [one for one in made.slices if (one.rank == 1 or (0, one.row) in rows) and one.touches(start, end)]
        groups = defaultdict(list)
        for one in wanted:
            groups[_key(one, by)].append(one)
        found = range_stats(view, start, end, chosen, by)
        assert found.slices == len(wanted)
        assert found.total_ns == sum(one.inside(start, end) for one in wanted)
        assert found.entries_total == len(groups) == len(found.entries)
        keys = {"name": ("name", "kind"), "kind": ("kind",), "track": ("rank", "track")}[by]
        for entry in found.entries:
            members = groups[tuple(getattr(entry, key) for key in keys)]
            durations = [one.dur for one in members]
            assert entry.count == len(members)
            assert entry.total_ns == sum(one.inside(start, end) for one in members)
            assert entry.self_ns == sum(_self(made, one, start, end) for one in members)
            assert (entry.min_ns, entry.max_ns) == (min(durations), max(durations))
            assert entry.avg_ns == pytest.approx(sum(durations) / len(durations))
            assert entry.p50_ns == pytest.approx(np.percentile(durations, 50))
            assert entry.p95_ns == pytest.approx(np.percentile(durations, 95))
        totals = [entry.total_ns for entry in found.entries]
        assert totals == sorted(totals, reverse=True)
        if found.total_ns:
            assert sum(entry.share for entry in found.entries) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_busy_time_and_gaps_fill_the_window_nanosecond_by_nanosecond(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed, slices=60)
    start, end = 40, 1_700
    rows = [1, 2, 3]
    busy = [False] * (end - start)
    for one in made.slices:
        if one.row in rows:
            for moment in range(max(one.at, start), min(one.end, end)):
                busy[moment - start] = True
    found = range_stats(made.view, start, end, [RowRange(0, 1, 3)], gaps_limit=1000)
    assert found.busy_ns == sum(busy)
    assert found.gaps.total_ns == len(busy) - sum(busy)
    gaps = sorted((gap.at_ns, gap.dur_ns) for gap in found.gaps.largest)
    expected, moment = [], start
    while moment < end:
        length = next((step for step in range(end - moment) if busy[moment + step - start]), end - moment)
        if length:
            expected.append((moment, length))
        moment += max(length, 1)
    assert gaps == expected


def test_a_gap_names_the_slices_at_its_edges_and_short_ones_are_left_out(tmp_path: Path) -> None:
    rows = [
        (0, 0, 10, "a"),
        (0, 30, 5, "b"),
        (1, 4, 8, "long"),
        (1, 32, 1, "inner"),
        (0, 36, 4, "c"),
        (0, 20, 0, "mark"),
    ]
    slices = [
        {"row": row, "start_ns": BASE_NS + at, "dur_ns": dur, "name": name, "kind": "kernel"}
        for row, at, dur, name in rows
    ]
    view = TimelineView(make_store(tmp_path, slices=slices, ranks=[{"rank": 0, "first_ns": BASE_NS}]))
    found = range_stats(view, 0, 40, [RowRange(0)], gaps_over_ns=2)
    (gap,) = found.gaps.largest
    assert (gap.at_ns, gap.dur_ns) == (12, 18)
    assert gap.before is not None
    assert gap.after is not None
    assert (gap.before.name, gap.after.name) == ("long", "b")
    assert (found.gaps.count, found.gaps.total_ns) == (1, 18)
    assert range_stats(view, 0, 40, [RowRange(0)]).gaps.count == 2


def test_lists_are_cut_where_asked_and_counts_are_not(tmp_path: Path) -> None:
    made = random_run(tmp_path, 3)
    whole = range_stats(made.view, 0, made.span, [RowRange(0)])
    cut = range_stats(made.view, 0, made.span, [RowRange(0)], limit=2, gaps_limit=0)
    assert cut.entries == whole.entries[:2]
    assert (cut.entries_total, cut.gaps.count, cut.gaps.largest) == (whole.entries_total, whole.gaps.count, [])


@pytest.mark.parametrize("seed", range(6))
def test_siblings_that_overlap_are_not_taken_off_twice(tmp_path: Path, seed: int) -> None:
    """Captures that mix clocks have slices on several rows below one parent that overlap each other."""
    dice = random.Random(seed)
    made: list[dict[str, Any]] = []
    for parent in range(4):
        made.append({"slice": parent, "row": 0, "start_ns": 200 * parent, "dur_ns": 150, "name": f"parent {parent}"})
        for _ in range(dice.randrange(8)):
            at = dice.randrange(150)
            inner = {"start_ns": 200 * parent + at, "dur_ns": dice.randrange(150 - at + 1), "name": "child"}
            made.append({"slice": len(made) + 10, "row": len(made), "parent": parent, **inner})
    slices = [{**each, "start_ns": BASE_NS + each["start_ns"], "kind": "operator"} for each in made]
    view = TimelineView(make_store(tmp_path, slices=slices, ranks=[{"rank": 0, "first_ns": BASE_NS}]))
    start, end = 37, 700
    found = {entry.name: entry for entry in range_stats(view, start, end, [RowRange(0, 0, 0)]).entries}
    for parent in range(4):
        low, high = max(start, 200 * parent), min(end, 200 * parent + 150)
        inside = [each for each in made if each.get("parent") == parent]
        alone = [
            m for m in range(low, high) if not any(c["start_ns"] <= m < c["start_ns"] + c["dur_ns"] for c in inside)
        ]
        assert found[f"parent {parent}"].self_ns == len(alone)
        whole = range(200 * parent, 200 * parent + 150)
        alone = [m for m in whole if not any(c["start_ns"] <= m < c["start_ns"] + c["dur_ns"] for c in inside)]
        assert slice_details(view, 0, parent).self_ns == len(alone)


def test_an_empty_choice_of_rows_has_empty_statistics(tmp_path: Path) -> None:
    found = range_stats(random_run(tmp_path, 3).view, 0, 1000, [RowRange(0, 5_000, 6_000)])
    assert (found.slices, found.entries, found.busy_ns) == (0, [], 0)
    assert found.gaps.total_ns == 1000


def test_a_rank_that_is_shown_elsewhere_is_counted_where_it_is_shown(tmp_path: Path) -> None:
    made = random_run(tmp_path, 5, ranks=2, slices=120)
    start, end, moved = 300, 40_000, 7_000
    found = range_stats(made.view, start, end, [RowRange(0), RowRange(1, shift_ns=moved)], "track")
    windows = {0: (start, end), 1: (start - moved, end - moved)}
    totals: dict[tuple[int, int], int] = defaultdict(int)
    for one in made.slices:
        if one.touches(*windows[one.rank]):
            totals[one.rank, one.track] += one.inside(*windows[one.rank])
    assert {(entry.rank, entry.track): entry.total_ns for entry in found.entries} == totals
