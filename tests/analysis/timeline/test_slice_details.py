"""One slice with all its surroundings, against a twin and against a capture written by hand."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

import stepscope
from analysis.stores import make_store
from analysis.timeline.runs import BASE_NS, Made, One, random_run
from stepscope.analysis.timeline.brief import SliceBrief
from stepscope.analysis.timeline.slice_details import slice_details
from stepscope.analysis.timeline.view import TimelineView
from stepscope.errors import UsageError
from support.mini_trace import write_rank


def _id(brief: SliceBrief | None) -> int | None:
    return None if brief is None else brief.slice


def _parents(by_id: dict[int, One], one: One) -> list[int]:
    found = []
    while one.parent is not None:
        found.append(one.parent)
        one = by_id[one.parent]
    return found[::-1]


def _around(ordered: list[One], one: One) -> tuple[int | None, int | None]:
    place = ordered.index(one)
    return (
        ordered[place - 1].slice if place else None,
        ordered[place + 1].slice if place + 1 < len(ordered) else None,
    )


@pytest.mark.parametrize("seed", range(3))
def test_surroundings_are_those_that_a_look_at_every_slice_finds(tmp_path: Path, seed: int) -> None:
    made: Made = random_run(tmp_path, seed, ranks=2, slices=100)
    view = made.view
    own = [one for one in made.slices if one.rank == 1]
    by_id = {one.slice: one for one in own}
    for one in own[::3]:
        found = slice_details(view, 1, one.slice)
        assert (found.name, found.kind, found.at_ns, found.dur_ns) == (one.name, one.kind, one.at, one.dur)
        assert (found.row, found.track, found.end_at_ns) == (one.row, one.track, one.end)
        children = [each for each in own if each.parent == one.slice]
        assert found.self_ns == one.dur - sum(child.dur for child in children)
        assert {child.slice for child in found.children.slices} == {child.slice for child in children}
        assert [parent.slice for parent in found.parents] == _parents(by_id, one)
        row = sorted((each for each in own if each.row == one.row), key=lambda each: each.at)
        assert (_id(found.previous_in_row), _id(found.next_in_row)) == _around(row, one)
        same = sorted((each for each in own if each.name == one.name), key=lambda each: (each.at, each.row))
        assert (_id(found.previous_same_name), _id(found.next_same_name)) == _around(same, one)
        durations = [each.dur for each in same]
        assert found.same_name.count == len(same)
        assert found.same_name.median_ns == statistics.median(durations)
        assert found.same_name.total_ns == sum(durations)
        assert found.same_name.shorter == sum(duration < one.dur for duration in durations)
        assert sum(found.same_name.histogram) == len(durations)
        links = [link for link in made.links if link["rank"] == 1]
        out = [(link["kind"], "out", link["to_slice"]) for link in links if link["from_slice"] == one.slice]
        into = [(link["kind"], "in", link["from_slice"]) for link in links if link["to_slice"] == one.slice]
        assert sorted((each.kind, each.direction, each.other.slice) for each in found.links) == sorted(out + into)
        assert all(each.other.at_ns == by_id[each.other.slice].at for each in found.links)


def test_arguments_come_in_file_order_with_exact_numbers(tmp_path: Path) -> None:
    run = stepscope.load(write_rank(tmp_path / "rank0.json"), store=tmp_path / "store")
    view = TimelineView(run.store)
    kernel = run.sql("SELECT slice FROM slices WHERE name = 'sgemm_128x64' ORDER BY start_ns LIMIT 1")["slice"][0]
    found = slice_details(view, 0, kernel)
    assert found.arguments == [("stream", 7), ("correlation", 0)]
    assert (found.kind, found.stream, found.step, found.dur_ns) == ("kernel", 7, 0, 33_333)
    assert found.start_ns == str(1_700_000_000_123_456_789 + 30_004)
    (launch,) = found.links
    assert (launch.kind, launch.direction, launch.other.name) == ("launch", "in", "cudaLaunchKernel")


@pytest.mark.parametrize(
    ("text", "arguments", "raw"),
    [
        ('{"a": 1, "a": 2}', [("a", 1), ("a", 2)], None),
        ('{"big": 18446744073709551615}', [("big", "18446744073709551615")], None),
        (
            '{"deep": {"list": [9007199254740993, true, null]}}',
            [("deep", {"list": ["9007199254740993", True, None]})],
            None,
        ),
        ('{"not": NaN}', [("not", "NaN")], None),
        ("[1, 2]", [], "[1, 2]"),
        ('{"cut": ', [], '{"cut": '),
        ("[" * 5000, [], "[" * 5000),
        (None, [], None),
    ],
)
def test_odd_arguments_do_no_harm(
    tmp_path: Path, text: str | None, arguments: list[tuple[str, object]], raw: str | None
) -> None:
    slices = [{"start_ns": BASE_NS, "dur_ns": 1, "name": "n", "kind": "operator", "slice": 3}]
    store = make_store(tmp_path, slices=slices, details=[{"slice": 3, "json": text}])
    found = slice_details(TimelineView(store), 0, 3)
    assert (found.arguments, found.arguments_text) == (arguments, raw)


def test_stack_and_hardware_counters_are_shown(tmp_path: Path) -> None:
    slices = [{"start_ns": BASE_NS, "dur_ns": 1, "name": "n", "kind": "operator", "stack": 9}]
    store = make_store(
        tmp_path,
        slices=slices,
        stacks=[{"stack": 9, "frames": "main.py(1): main\nnet.py(7): forward"}],
        pmu=[{"slice": 0, "metric": "mac_time(us)", "value": 1.5}],
    )
    found = slice_details(TimelineView(store), 0, 0)
    assert found.stack == ["main.py(1): main", "net.py(7): forward"]
    assert [(value.metric, value.value) for value in found.pmu] == [("mac_time(us)", 1.5)]


def test_a_parent_that_leads_in_a_circle_ends_the_chain(tmp_path: Path) -> None:
    slices = [
        {"slice": own, "parent": up, "row": own, "start_ns": BASE_NS, "dur_ns": 9, "name": "n", "kind": "operator"}
        for own, up in ((0, 1), (1, 0), (2, 77))
    ]
    view = TimelineView(make_store(tmp_path, slices=slices))
    assert [parent.slice for parent in slice_details(view, 0, 0).parents] == [1]
    assert slice_details(view, 0, 2).parents == []


@pytest.mark.parametrize(("rank", "number", "code"), [(0, 999_999, "no_such_slice"), (5, 0, "no_such_rank")])
def test_what_is_not_there_is_a_clear_error(tmp_path: Path, rank: int, number: int, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        slice_details(random_run(tmp_path, 2).view, rank, number)
    assert caught.value.code == code


def test_a_slice_is_a_part_of_its_steps_period(tmp_path: Path) -> None:
    """The step lasts 1000 on the device, from the end of what ran before to the end of its own kernel of 400."""
    kernel = {"track": 1, "row": 0, "name": "gemm", "kind": "kernel"}
    slices = [
        kernel | {"start_ns": BASE_NS, "dur_ns": 100, "step": 1},
        kernel | {"start_ns": BASE_NS + 700, "dur_ns": 400, "step": 2},
        {"track": 0, "row": 0, "name": "n", "kind": "operator", "start_ns": BASE_NS, "dur_ns": 5},
    ]
    steps = [
        {"step": 1, "host_start_ns": BASE_NS, "host_end_ns": BASE_NS + 50},
        {"step": 2, "host_start_ns": BASE_NS + 50, "host_end_ns": BASE_NS + 90},
    ]
    tracks = [{"track": 0, "kind": "host", "order": 0}, {"track": 1, "kind": "stream", "order": 1}]
    facts = [{"rank": 0, "first_ns": BASE_NS, "last_ns": BASE_NS + 1100}]
    view = TimelineView(make_store(tmp_path, slices=slices, steps=steps, tracks=tracks, ranks=facts))
    assert slice_details(view, 0, 1).step_share == 0.4
    assert slice_details(view, 0, 2).step_share is None
