"""Real PyTorch traces: every event, argument and link of the file, against an independent reader."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stepscope.run import Run
from support.kineto_truth import Complete, Truth, truth, whole_ns
from support.samples import KINETO, KINETO_NAMES, open_sample
from support.traces import (
    Event,
)


@dataclass
class Sample:
    run: Run
    truth: Truth

    def __post_init__(self) -> None:
        self.slices = {row["slice"]: row for row in self.run.table("slices").collect().iter_rows(named=True)}
        (self.rank,) = self.run.table("ranks").collect().to_dicts()

    def links(self, kind: str) -> list[tuple[int, int]]:
        frame = self.run.table("links").filter(pl.col("kind").cast(pl.String) == kind).collect()
        return list(frame.select("from_slice", "to_slice").iter_rows())


@pytest.fixture(params=KINETO_NAMES)
def sample(request: pytest.FixtureRequest, shared_data: Path) -> Sample:
    """Each sample in turn, read once."""
    assert KINETO.is_relative_to(shared_data)
    return sample_of(request.param)


@pytest.fixture
def h200(shared_data: Path) -> Sample:
    assert KINETO.is_relative_to(shared_data)
    return sample_of("h200_plain.json.gz")


@cache
def sample_of(name: str) -> Sample:
    return Sample(open_sample(KINETO / name), truth(KINETO / name))


def test_every_complete_event_is_stored_with_its_exact_times(sample: Sample) -> None:
    base = sample.rank["clock_base_ns"]
    assert base == sample.truth.base_ns
    stored = {
        number: (row["start_ns"] - base, row["dur_ns"], row["name"])
        for number, row in sample.slices.items()
        if row["kind"] != "mark"
    }
    expected = {event.index: (event.ts_ns, event.dur_ns, event.name) for event in sample.truth.complete}
    assert stored == expected


def test_instants_become_marks_but_for_memory_events(sample: Sample) -> None:
    events = enumerate(sample.truth.events)
    expected = {index for index, event in events if event["ph"] == "i" and event["name"] != "[memory]"}
    assert {number for number, row in sample.slices.items() if row["kind"] == "mark"} == expected


_KINDS = {
    "cpu_op": "operator",
    "user_annotation": "annotation",
    "gpu_user_annotation": "annotation",
    "Trace": "annotation",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "cuda_sync": "sync",
    "python_function": "python",
    "overhead": "overhead",
}


def kind_of(event: Complete) -> str:
    if event.category == "user_annotation" and event.name.startswith("ProfilerStep#"):
        return "step"
    if event.category == "user_annotation" and event.name.startswith("gloo:"):
        return "collective"
    if event.category == "python_function" and event.name.startswith("nn.Module: "):
        return "module"
    if event.category == "kernel" and event.name.startswith("nccl"):
        return "collective"
    return _KINDS[event.category]


def test_kinds_follow_from_categories_and_their_counts_agree(sample: Sample) -> None:
    expected = {event.index: kind_of(event) for event in sample.truth.complete}
    assert {number: row["kind"] for number, row in sample.slices.items() if number in expected} == expected
    counted = sample.run.sql("SELECT kind, count(*) FROM slices WHERE kind <> 'mark' GROUP BY kind")
    assert dict(counted.iter_rows()) == Counter(expected.values())


def test_nothing_needs_a_note(sample: Sample) -> None:
    codes = {note.code for note in sample.run.notes}
    # Kineto draws arrows from and to operators that lie outside the window; nothing else is odd in these files.
    unmarked = set() if sample.truth.steps else {"no_step_marks"}
    launches_graphs = any(event.name == "cudaGraphLaunch" for event in sample.truth.complete)
    without_capture = {"graph_not_captured"} if launches_graphs else set()
    assert codes <= {"flow_unbound", "flow_without_start", "profiler_log", *unmarked, *without_capture}


def test_arguments_are_kept_as_the_file_has_them(sample: Sample) -> None:
    stored = dict(sample.run.table("details").select("slice", "json").collect().iter_rows())
    for event in sample.truth.complete:
        if event.args:
            assert json.loads(stored[event.index]) == json.loads(json.dumps(event.args, default=float))
            assert list(json.loads(stored[event.index])) == list(event.args)


def test_arguments_that_are_columns_agree(sample: Sample) -> None:
    for event in sample.truth.device_work:
        row = sample.slices[event.index]
        found = (row["correlation"], row["stream"], row["bytes"], row["core"])
        assert found == (event.args["correlation"], event.args["stream"], event.args.get("bytes"), "GPU")
    for event in sample.truth.of_category.get("cpu_op", []):
        shapes = sample.slices[event.index]["input_shapes"]
        assert (json.loads(shapes) if shapes else None) == event.args.get("Input Dims")


def test_slices_lie_on_the_track_of_their_process_and_thread(sample: Sample) -> None:
    tracks = {row["track"]: row for row in sample.run.table("tracks").collect().iter_rows(named=True)}
    places: dict[Any, set[int]] = defaultdict(set)
    for event in sample.truth.complete:
        track = sample.slices[event.index]["track"]
        places[event.track].add(track)
        assert tracks[track]["thread"] == str(event.track[1])
    assert all(len(found) == 1 for found in places.values())
    assert len({next(iter(found)) for found in places.values()}) == len(places)
    streams = {sample.slices[event.index]["track"] for event in sample.truth.device_work}
    assert {number for number, row in tracks.items() if row["kind"] == "stream"} >= streams


def test_rows_never_overlap_and_parents_contain_their_children(sample: Sample) -> None:
    lanes = defaultdict(list)
    for row in sample.slices.values():
        lanes[row["track"], row["row"]].append((row["start_ns"], row["start_ns"] + row["dur_ns"]))
        if row["parent"] is not None:
            parent = sample.slices[row["parent"]]
            assert parent["track"] == row["track"]
            assert parent["row"] < row["row"]
            assert parent["start_ns"] <= row["start_ns"]
            assert row["start_ns"] + row["dur_ns"] <= parent["start_ns"] + parent["dur_ns"]
    for intervals in lanes.values():
        assert all(left[1] <= right[0] for left, right in pairwise(sorted(intervals)))


def test_launches_are_joined_by_correlation(sample: Sample) -> None:
    assert sorted(sample.links("launch")) == sorted((call, work) for work, call in sample.truth.launches.items())


def test_device_work_belongs_to_the_step_of_its_launch(sample: Sample) -> None:
    truth = sample.truth
    begins = {event.index: event.ts_ns for event in truth.complete}
    for event in truth.device_work:
        expected = truth.step_at(begins[truth.launches[event.index]]) if event.index in truth.launches else None
        if not truth.steps:
            expected = 0
        assert sample.slices[event.index]["step"] == expected


def test_what_was_launched_before_the_window_comes_before_all_launched_work(sample: Sample) -> None:
    """In these captures every launch of the window was recorded, so what lacks one was launched before it."""
    first = min(event.ts_ns for event in sample.truth.device_work if event.index in sample.truth.launches)
    assert all(event.ts_ns < first for event in sample.truth.device_work if event.index not in sample.truth.launches)


def test_steps_are_those_of_the_profiler(sample: Sample) -> None:
    base = sample.truth.base_ns
    rows = sample.run.table("steps").collect().to_dicts()
    found = [(row["step"], row["host_start_ns"] - base, row["host_end_ns"] - base) for row in rows]
    if sample.truth.steps:
        assert sorted(found) == sample.truth.steps
    else:
        calls = {event.index: event.ts_ns for event in sample.truth.complete}
        first = min(calls[call] for call in sample.truth.launches.values())
        assert found == [(0, first, 1 + max(event.end_ns for event in sample.truth.device_work))]
    for row in rows:
        work = [event for event in sample.truth.device_work if sample.slices[event.index]["step"] == row["step"]]
        bounds = (min(event.ts_ns for event in work), max(event.end_ns for event in work))
        assert (row["device_start_ns"] - base, row["device_end_ns"] - base) == bounds


def test_the_memory_curve_is_that_of_the_events(sample: Sample) -> None:
    expected = [
        (time + sample.truth.base_ns, args["Total Allocated"], args["Total Reserved"])
        for time, args in sample.truth.memory()
        if args["Device Type"] == 1
    ]
    curve = sample.run.table("memory").filter(pl.col("device").cast(pl.String) == "cuda:0").collect()
    found = list(curve.select("time_ns", "allocated", "reserved").iter_rows())
    assert sorted(found) == sorted(expected)
    assert [row[0] for row in found] == sorted(row[0] for row in expected)


def test_blocks_of_memory_add_up_to_the_events(sample: Sample) -> None:
    sizes = [args["Bytes"] for _, args in sample.truth.memory()]
    blocks = sample.run.table("allocations").collect()
    assert blocks.filter(~pl.col("before_window"))["bytes"].sum() == sum(size for size in sizes if size > 0)
    freed = blocks.filter(pl.col("free_ns").is_not_null())
    assert freed["bytes"].sum() == -sum(size for size in sizes if size < 0)


@pytest.fixture
def stack_sample(shared_data: Path) -> Sample:
    assert KINETO.is_relative_to(shared_data)
    return sample_of("gpt_stack.json.gz")


def innermost(among: list[Complete], moment: Event) -> Complete | None:
    """The last to begin of those around an event without length, by looking at all of them."""
    ts_ns, track = whole_ns(moment["ts"]), (moment["pid"], moment["tid"])
    holders = [event for event in among if event.track == track and event.ts_ns <= ts_ns < event.end_ns]
    return max(holders, key=lambda event: (event.ts_ns, -event.dur_ns, event.index)) if holders else None


def test_blocks_belong_to_the_operator_that_allocated_them(stack_sample: Sample) -> None:
    operators = stack_sample.truth.of_category["cpu_op"]
    expected = {}
    for index, event in enumerate(stack_sample.truth.events):
        if event["name"] == "[memory]" and event["args"]["Bytes"] > 0:
            owner = innermost(operators, event)
            expected[index] = owner.name if owner else None
    born = stack_sample.run.table("allocations").filter(pl.col("alloc_ns").is_not_null()).collect()
    assert dict(born.select("alloc_seq", "operator").iter_rows()) == expected


def test_forward_and_backward_are_linked_as_the_arrows_say(stack_sample: Sample) -> None:
    sample = stack_sample
    arrows = [event for event in sample.truth.events if event.get("cat") == "fwdbwd"]
    around = [holder.index if (holder := innermost(sample.truth.complete, event)) else None for event in arrows]
    begins = {event["id"]: own for event, own in zip(arrows, around, strict=True) if event["ph"] == "s"}
    expected = [(begins[event["id"]], own) for event, own in zip(arrows, around, strict=True) if event["ph"] == "f"]
    assert len(expected) == 236
    bound = sorted((begin, end) for begin, end in expected if begin is not None and end is not None)
    assert sorted(sample.links("forward_backward")) == bound


def test_the_reference_values_of_the_h200_sample(h200: Sample) -> None:
    busy = h200.run.sql("SELECT kind, sum(dur_ns)::BIGINT, count(*) FROM slices WHERE core = 'GPU' GROUP BY kind")
    found = {kind: (total, count) for kind, total, count in busy.iter_rows()}
    assert found == {"kernel": (8_381_623, 1_028), "copy": (1_139_888, 356)}
    assert sum(total for total, _ in found.values()) == 9_521_511


def test_the_h200_sample_says_who_recorded_it(h200: Sample) -> None:
    expected = {
        "rank": 0,
        "world_size": 1,
        "device_kind": "gpu",
        "device_name": "NVIDIA H200",
        "device_index": 0,
        "memory_capacity": 150_109_880_320,
        "compute_units": 132,
        "framework": "pytorch",
    }
    assert {key: h200.rank[key] for key in expected} == expected
    assert json.loads(h200.rank["versions"])["cuda_driver_version"] == 13_000
    assert h200.run.table("groups").collect().to_dicts()[0]["ranks"] == [0]
