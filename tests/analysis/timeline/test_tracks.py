"""The tree of tracks, the table of names, and one clock for all ranks."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS, random_run
from stepscope.analysis.timeline.clock import RankClock
from stepscope.analysis.timeline.tracks import names, tracks
from stepscope.analysis.timeline.view import TimelineView
from stepscope.errors import UsageError


@pytest.mark.parametrize("seed", range(3))
def test_rows_follow_the_order_of_tracks_and_count_their_slices(tmp_path: Path, seed: int) -> None:
    made = random_run(tmp_path, seed, ranks=2)
    answer = tracks(made.view, [0, 1])
    for rank in answer.ranks:
        own = [one for one in made.slices if one.rank == rank.rank]
        listed = [track for group in rank.groups for track in group.tracks]
        assert rank.slices == len(own)
        assert [track.first_row for track in listed] == sorted(track.first_row for track in listed)
        for track in listed:
            mine = [one for one in own if one.track == track.track]
            assert track.slices == len(mine)
            assert {one.row for one in mine} <= set(range(track.first_row, track.first_row + track.rows))
            assert {answer.kinds[kind] for kind in track.kinds} == {one.kind for one in mine}
        assert rank.links == Counter(link["kind"] for link in made.links if link["rank"] == rank.rank)


def test_names_come_most_frequent_first_and_in_stretches(tmp_path: Path) -> None:
    made = random_run(tmp_path, 2)
    counts = Counter(one.name for one in made.slices)
    expected = sorted(counts, key=lambda name: (-counts[name], name))
    assert tracks(made.view, [0]).ranks[0].names == expected
    assert names(made.view, 0, 2, 3).names == expected[2:5]
    assert names(made.view, 0, 10_000, 3).names == []


def test_without_a_wish_the_first_rank_is_shown(tmp_path: Path) -> None:
    made = random_run(tmp_path, 2, ranks=3)
    assert [rank.rank for rank in tracks(made.view, None).ranks] == [0]
    with pytest.raises(UsageError, match="no rank 9"):
        tracks(made.view, [9])


def test_ranks_share_a_clock_by_offset_and_drift(tmp_path: Path) -> None:
    slices = [
        {"rank": rank, "start_ns": BASE_NS + at, "dur_ns": 10**9, "name": "n", "kind": "operator"}
        for rank, at in ((0, 0), (1, 500), (1, 2 * 10**9 + 500))
    ]
    facts = [
        {"rank": 0, "first_ns": BASE_NS, "last_ns": BASE_NS + 10**9},
        {"rank": 1, "first_ns": BASE_NS + 500, "last_ns": BASE_NS + 3 * 10**9 + 500}
        | {"clock_offset_ns": -700, "clock_drift_ppb": 1000},
    ]
    view = TimelineView(make_store(tmp_path, slices=slices, ranks=facts))
    answer = tracks(view, [0, 1])
    assert answer.origin_ns == str(BASE_NS - 200)
    assert [rank.first_at_ns for rank in answer.ranks] == [200, 0]
    assert view.columns(1).start.tolist() == [0, 2 * 10**9 + 2000]
    assert view.columns(1).duration(np.array([0, 1])).tolist() == [10**9 + 1000, 10**9 + 1000]


def test_drift_is_exact_and_keeps_the_order() -> None:
    for drift in (-999_999_999, -12_345, -1, 1, 77, 10**8):
        clock = RankClock(5, drift, BASE_NS)
        times = BASE_NS + np.array([-3, 0, 1, 999_999_999, 10**9, 10**9 + 1, 10**15 + 7], np.int64)
        expected = [int(t) + 5 + (Fraction(int(t) - BASE_NS) * drift / 10**9).__floor__() for t in times]
        assert clock.to_run(times).tolist() == expected
        assert sorted(expected) == expected


def test_steps_are_marked_with_their_windows(tmp_path: Path) -> None:
    slices = [{"start_ns": BASE_NS, "dur_ns": 100, "name": "n", "kind": "operator"}]
    steps = [
        {"step": 4, "host_start_ns": BASE_NS + 10, "host_end_ns": BASE_NS + 50, "warm_up": True},
        {"step": 5, "device_start_ns": BASE_NS + 60, "device_end_ns": BASE_NS + 90, "incomplete": True},
        {"step": 6},
    ]
    store = make_store(tmp_path, slices=slices, steps=steps, ranks=[{"rank": 0, "first_ns": BASE_NS}])
    marks = tracks(TimelineView(store), None).ranks[0].steps
    assert [(mark.step, mark.at_ns, mark.dur_ns, mark.device_at_ns) for mark in marks] == [
        (4, 10, 40, None),
        (5, 60, 30, 60),
    ]
    assert [(mark.warm_up, mark.incomplete) for mark in marks] == [(True, False), (False, True)]


def test_warm_up_that_nobody_stated_is_the_one_of_all_answers(tmp_path: Path) -> None:
    slices = [{"start_ns": BASE_NS, "dur_ns": 100, "name": "n", "kind": "operator"}]
    ends = np.cumsum([0, 50_000, 1_000, 1_000, 1_000, 1_000]).tolist()
    steps = [
        {"step": number, "host_start_ns": BASE_NS + start, "host_end_ns": BASE_NS + end}
        for number, (start, end) in enumerate(pairwise(ends))
    ]
    store = make_store(tmp_path, slices=slices, steps=steps, ranks=[{"rank": 0, "first_ns": BASE_NS}])
    marks = tracks(TimelineView(store), None).ranks[0].steps
    assert [mark.step for mark in marks if mark.warm_up] == [0]


def test_tracks_that_no_table_names_are_shown_last(tmp_path: Path) -> None:
    slices = [
        {"track": track, "start_ns": BASE_NS, "dur_ns": 1, "name": None, "kind": "operator"} for track in (7, 2, 5)
    ]
    named = [{"track": 5, "kind": "stream", "name": "s", "process": None, "order": None}]
    rank = tracks(TimelineView(make_store(tmp_path, slices=slices, tracks=named)), None).ranks[0]
    assert [track.track for group in rank.groups for track in group.tracks] == [5, 2, 7]
    assert rank.names == [""]


def test_an_empty_run_has_an_empty_tree(tmp_path: Path) -> None:
    answer = tracks(TimelineView(make_store(tmp_path, slices=[])), None)
    assert (answer.origin_ns, answer.end_at_ns, answer.ranks[0].rows) == ("0", 0, 0)


def test_quiet_tracks_and_the_notes_of_the_profiler_are_told_apart(tmp_path: Path) -> None:
    def work(track: int, dur: int, kind: str, name: str = "k") -> dict[str, Any]:
        return {"track": track, "row": 0, "start_ns": BASE_NS, "dur_ns": dur, "name": name, "kind": kind}

    # Stream 2 is long in an annotation only; stream 3 is just busy enough; 5 to 7 are notes of three processes.
    slices = [
        work(0, 1000, "operator"),
        work(1, 1000, "kernel"),
        work(2, 900, "annotation"),
        work(3, 10, "kernel"),
        work(4, 9, "kernel"),
        work(5, 1000, "annotation", "PyTorch Profiler (0)"),
        work(6, 1, "mark", "Iteration Start"),
        work(7, 1, "overhead", "Buffer Flush"),
    ]
    processes = ("cpu", "gpu", "gpu", "gpu", "gpu", "Spans", None, "-1")
    stated = [
        {"track": track, "kind": "stream" if 1 <= track <= 4 else "host", "name": f"t{track} ", "process": process}
        | {"order": track}
        for track, process in enumerate(processes)
    ]
    (rank,) = tracks(TimelineView(make_store(tmp_path, slices=slices, tracks=stated)), [0]).ranks
    assert [(group.name, group.kind) for group in rank.groups] == [("cpu", "host"), ("gpu", "device"), ("", "marks")]
    assert [(track.name, track.quiet) for track in rank.groups[1].tracks] == [
        ("t1", False),
        ("t2", True),
        ("t3", False),
        ("t4", True),
    ]
    assert [track.name for track in rank.groups[2].tracks] == [
        "PyTorch Profiler (0)",
        "Iteration Start",
        "Buffer Flush",
    ]


def test_memory_is_a_curve_among_the_tracks(tmp_path: Path) -> None:
    slices = [{"start_ns": BASE_NS, "dur_ns": 100, "name": "n", "kind": "operator"}]
    samples = [
        {"device": "cuda:0", "time_ns": BASE_NS + at, "allocated": used, "reserved": 64}
        for at, used in ((0, 10), (50, 40))
    ]
    view = TimelineView(make_store(tmp_path, slices=slices, memory=samples, ranks=[{"rank": 0, "first_ns": BASE_NS}]))
    (_, memory) = tracks(view, [0]).ranks[0].groups
    assert (memory.name, memory.kind, [track.name for track in memory.tracks]) == (
        "cuda:0",
        "memory",
        ["allocated (B)", "reserved (B)"],
    )
    assert [(track.counter.min, track.counter.max) for track in memory.tracks if track.counter] == [(10, 40), (64, 64)]
    time, value = view.counters(0).of(memory.tracks[0].track)
    assert (time.tolist(), value.tolist()) == ([0, 50], [10, 40])
