"""PyTorch profiler traces: real samples against an independent reader, and hand-made ones with known answers."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope.errors import StepscopeError, UnreadableInputError
from stepscope.run import Run
from support.kineto_truth import Complete, Truth, truth, whole_ns
from support.limits import PeakMemory, at_most
from support.reading import Reading, read
from support.samples import KINETO, KINETO_NAMES
from support.traces import (
    LAYOUTS,
    Event,
    Literal,
    annotation,
    call,
    compact,
    complete,
    copy,
    document,
    flow,
    kernel,
    memory,
    named,
    operator,
    training_steps,
    us,
    write,
)

# --- real samples -----------------------------------------------------------------------------------------


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


_opened: dict[str, Sample] = {}


@pytest.fixture(params=KINETO_NAMES)
def sample(request: pytest.FixtureRequest, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Each sample in turn, read once."""
    assert KINETO.is_relative_to(shared_data)
    return open_sample(request.param, tmp_path_factory)


@pytest.fixture
def h200(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    assert KINETO.is_relative_to(shared_data)
    return open_sample("h200_plain.json.gz", tmp_path_factory)


def open_sample(name: str, factory: pytest.TempPathFactory) -> Sample:
    if name not in _opened:
        run = stepscope.load(KINETO / name, store=factory.mktemp("samples"), progress=False)
        _opened[name] = Sample(run, truth(KINETO / name))
    return _opened[name]


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
    assert codes <= {"flow_unbound", "flow_without_start", "profiler_log", *unmarked}


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
def stack_sample(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    assert KINETO.is_relative_to(shared_data)
    return open_sample("gpt_stack.json.gz", tmp_path_factory)


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


# --- hand-made traces -------------------------------------------------------------------------------------

Opened = Callable[..., Reading]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Reads events, or a whole document, or bytes."""

    def open_it(content: Any, **metadata: Any) -> Reading:
        if isinstance(content, list):
            content = document(content, **metadata)
        reading = read(write(tmp_path / "trace.json", content))
        assert reading.reader == "kineto"
        return reading

    return open_it


def links(reading: Reading, kind: str) -> list[tuple[int, int]]:
    return sorted((row["from_slice"], row["to_slice"]) for row in reading.rows("links") if row["kind"] == kind)


def test_all_layouts_give_the_same_tables(opened: Opened) -> None:
    whole = document(training_steps(), baseTimeNanoseconds=7_000_000_000)
    first, *others = [opened(layout(whole)) for layout in LAYOUTS.values()]
    assert first.codes == {}
    assert {"slices", "links", "steps", "details", "memory", "allocations", "tracks", "ranks"} <= first.tables.keys()
    for other in others:
        assert first.tables.keys() == other.tables.keys()
        for table, frame in first.tables.items():
            if table != "details":  # these keep the spaces of the file
                assert frame.equals(other.tables[table]), table
        texts = [[(row["slice"], json.loads(row["json"])) for row in each.rows("details")] for each in (first, other)]
        assert texts[0] == texts[1]


def test_times_are_absolute_where_the_file_tells_their_base(opened: Opened) -> None:
    base = 1_790_857_026_000_000_000
    reading = opened([operator("a", 3_856_954_136_243_253, 31_326)], baseTimeNanoseconds=base)
    row = reading.named("a")
    assert (row["start_ns"], row["dur_ns"]) == (base + 3_856_954_136_243_253, 31_326)
    (rank,) = reading.rows("ranks")
    assert rank["clock_base_ns"] == base
    assert (rank["first_ns"], rank["last_ns"]) == (row["start_ns"], row["start_ns"] + 31_326)


def test_the_display_unit_does_not_change_the_unit_of_times(opened: Opened) -> None:
    for unit in ("ms", "ns"):
        assert opened([operator("a", 5_000, 1_500)], displayTimeUnit=unit).named("a")["dur_ns"] == 1_500


def test_times_of_an_old_trace_are_whole_epoch_microseconds(opened: Opened) -> None:
    event = {"ph": "X", "cat": "Operator", "name": "a", "pid": 1, "tid": "1", "ts": 1_736_405_443_871_466, "dur": 12}
    row = opened([event]).named("a")
    assert (row["start_ns"], row["dur_ns"], row["kind"]) == (1_736_405_443_871_466_000, 12_000, "operator")


def test_metadata_behind_the_events_is_used(opened: Opened) -> None:
    behind = {
        "traceEvents": [operator("a", 1_000, 10)],
        "baseTimeNanoseconds": 500,
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4},
        "host_name": "node7",
    }
    reading = opened(behind)
    (rank,) = reading.rows("ranks")
    assert (rank["rank"], rank["world_size"], rank["host"], rank["clock_base_ns"]) == (3, 4, "node7", 500)
    assert reading.named("a")["start_ns"] == 1_500


@pytest.mark.parametrize(
    ("info", "rank", "world"),
    [
        ({"rank": 5}, 5, None),
        ({"backend": "nccl", "rank": 2, "world_size": 8, "pg_count": 0, "pg_config": []}, 2, 8),
        ({"backend": "nccl", "pg_config": [{"pg_name": "0", "ranks": [0, 1]}], "rank": 1, "world_size": 2}, 1, 2),
        ({"rank": "3", "world_size": "4"}, 3, 4),
        ({}, 0, None),
        ("none", 0, None),
    ],
)
def test_who_a_rank_is_stands_in_its_distributed_info(info: Any, rank: int, world: int | None, opened: Opened) -> None:
    (row,) = opened([operator("a", 1_000, 10)], distributedInfo=info).rows("ranks")
    assert (row["rank"], row["world_size"]) == (rank, world)


def test_the_device_in_use_is_described(opened: Opened) -> None:
    devices = [{"id": number, "name": f"GPU {number}", "totalGlobalMem": 80 << 30, "numSms": 108} for number in (0, 1)]
    event = kernel("k", 1_000, 5, 1) | {"pid": 1}
    (rank,) = opened([event], deviceProperties=devices, with_stack=1, cuda_driver_version=12040).rows("ranks")
    found = (rank["device_name"], rank["device_index"], rank["memory_capacity"], rank["compute_units"])
    assert found == ("GPU 1", 1, 80 << 30, 108)
    assert json.loads(rank["switches"]) == {"with_stack": True}
    assert json.loads(rank["versions"]) == {"cuda_driver_version": 12040}
    (rank,) = opened([operator("a", 1_000, 5)], deviceProperties=devices).rows("ranks")
    assert (rank["device_kind"], rank["device_name"]) == ("cpu", None)


def test_warnings_of_the_profiler_become_notes(opened: Opened) -> None:
    reading = opened([operator("a", 1, 1)], WARNING=["records out of range"], ERROR=["stopped early"], INFO=["fine"])
    lines = {note.params["line"] for note in reading.notes if note.code == "profiler_log"}
    assert lines == {"records out of range", "stopped early"}


# tracks


def test_tracks_have_the_names_and_the_order_of_the_metadata_events(opened: Opened) -> None:
    events = [
        operator("a", 1_000, 10, tid=5),
        operator("b", 1_000, 10, tid=4),
        kernel("k", 1_000, 10, 1),
        *[named("process_name", "python", pid=100), named("process_labels", "CPU", pid=100)] * 50,
        named("process_name", "python", pid=0),
        named("process_labels", "GPU 0", pid=0),
        named("process_sort_index", 5_000_000, pid=0),
        named("process_sort_index", 100, pid=100),
        named("thread_name", "thread 5 (main)", pid=100, tid=5),
        named("thread_sort_index", 2, pid=100, tid=4),
        named("thread_sort_index", 1, pid=100, tid=5),
        named("thread_name", "stream 7 ", pid=0, tid=7),
        named("thread_name", "stream 9 ", pid=3, tid=9),  # announced, but nothing ran there
    ]
    rows = sorted(opened(events).rows("tracks"), key=lambda row: row["order"])
    assert [(row["process"], row["name"].strip(), row["kind"]) for row in rows] == [
        ("python CPU", "thread 5 (main)", "host"),
        ("python CPU", "thread 4", "host"),
        ("python GPU 0", "stream 7", "stream"),
    ]


def test_a_stream_and_a_thread_with_the_same_number_are_two_tracks(opened: Opened) -> None:
    reading = opened([kernel("k", 1_000, 10, 1, stream=1), operator("a", 1_000, 10)])
    assert reading.named("k")["track"] != reading.named("a")["track"]


# launches


def test_a_call_is_linked_with_all_that_it_launched(opened: Opened) -> None:
    events = [
        call("cudaLaunchKernel", 1_000, 10, 1),
        call("cudaGraphLaunch", 2_000, 10, 2),
        complete("cuda_driver", "cuLaunchKernelEx", 3_000, 10, pid=100, correlation=3),
        call("cudaMemcpyAsync", 4_000, 10, 4),
        call("cudaDeviceSynchronize", 5_000, 10, 5),  # launches nothing
        kernel("one", 6_000, 10, 1),
        kernel("of graph", 7_000, 10, 2),
        kernel("of graph", 8_000, 10, 2, stream=8),
        kernel("of graph", 9_000, 10, 2),
        kernel("by driver", 10_000, 10, 3),
        copy("Memcpy HtoD", 11_000, 10, 4, 64),
        kernel("from before the window", 12_000, 10, 99),
        complete("cuda_sync", "Stream Sync", 13_000, 10, pid=0, tid=7, correlation=5, stream=7),
    ]
    reading = opened(events)
    assert links(reading, "launch") == [(0, 5), (1, 6), (1, 7), (1, 8), (2, 9), (3, 10)]
    assert "duplicate_correlation" not in reading.codes


def test_a_correlation_that_two_calls_have_is_noted_and_the_first_is_the_launch(opened: Opened) -> None:
    events = [
        call("cudaLaunchKernel", 5_000, 10, 1),
        call("cudaLaunchKernel", 1_000, 10, 1),
        kernel("k", 6_000, 10, 1),
    ]
    reading = opened(events)
    assert links(reading, "launch") == [(1, 2)]
    assert reading.codes["duplicate_correlation"] == 1


def test_arrows_of_launches_are_not_drawn_twice(opened: Opened) -> None:
    events = [
        call("cudaLaunchKernel", 1_000, 10, 1),
        kernel("k", 2_000, 10, 1),
        flow("s", "ac2g", 1, 1_000),
        flow("f", "ac2g", 1, 2_000, pid=0, tid=7),
        flow("f", "ac2g", 2, 3_000),  # every call has an end, also one that launches nothing
        flow("f", "async_gpu", 2, 3_000),
    ]
    reading = opened(events)
    assert [(row["kind"], row["from_slice"], row["to_slice"]) for row in reading.rows("links")] == [("launch", 0, 1)]
    assert set(reading.codes) == {"no_step_marks"}


# arrows between operators


def test_forward_is_linked_with_each_of_its_backward_operators(opened: Opened) -> None:
    events = [
        operator("outer", 1_000, 1_000),
        operator("forward", 1_200, 100),
        operator("backward 1", 5_000, 100, tid=2),
        operator("backward 2", 6_000, 100, tid=2),
        flow("s", "fwdbwd", 7, 1_200),
        flow("f", "fwdbwd", 7, 5_000, tid=2),
        flow("f", "fwdbwd", 7, 6_000, tid=2),
    ]
    assert links(opened(events), "forward_backward") == [(1, 2), (1, 3)]


def test_an_id_that_is_used_again_begins_a_new_arrow(opened: Opened) -> None:
    events = [
        operator("f1", 1_000, 100),
        operator("b1", 2_000, 100, tid=2),
        operator("f2", 3_000, 100),
        operator("b2", 4_000, 100, tid=2),
        flow("f", "forward_backward", 1, 4_000, tid=2),
        flow("s", "forward_backward", 1, 3_000),
        flow("f", "forward_backward", 1, 2_000, tid=2),
        flow("s", "forward_backward", 1, 1_000),
        flow("s", "other", 1, 1_000),  # ids are unique per category only
        flow("f", "other", 1, 2_000, tid=2),
    ]
    reading = opened(events)
    assert links(reading, "forward_backward") == [(0, 1), (2, 3)]
    assert links(reading, "flow") == [(0, 1)]


def test_arrows_without_a_slice_or_a_beginning_are_counted(opened: Opened) -> None:
    events = [
        operator("f", 1_000, 100),
        flow("s", "fwdbwd", 1, 9_000),  # nothing is there
        flow("f", "fwdbwd", 1, 1_000),
        flow("f", "fwdbwd", 2, 1_050),
    ]
    reading = opened(events)
    assert links(reading, "forward_backward") == []
    assert reading.codes["flow_unbound"] == 1
    assert reading.codes["flow_without_start"] == 2


# steps and phases


def test_a_kernel_belongs_to_the_step_that_launched_it_even_if_it_runs_later(opened: Opened) -> None:
    events = [
        annotation("ProfilerStep#8", 1_000, 1_000),
        annotation("ProfilerStep#9", 2_000, 1_000),
        call("cudaLaunchKernel", 1_900, 10, 1),
        kernel("late", 2_500, 10, 1),
        call("cudaLaunchKernel", 2_520, 10, 2),
        kernel("next", 2_700, 10, 2),
        kernel("from before", 2_400, 10, 76),
        kernel("beside late", 2_512, 10, 77),
        kernel("beside next", 2_680, 10, 78),
        kernel("behind all", 9_000, 10, 79),
        kernel("on a stream without launches", 2_800, 10, 80, stream=9),
        kernel("there before all launches", 2_300, 10, 81, stream=9),
        operator("other thread", 1_999, 100, tid=2),
        operator("at the border", 2_000, 10, tid=2),
    ]
    reading = opened(events)
    steps = {row["name"]: row["step"] for row in reading.rows("slices")}
    assert (steps["late"], steps["next"], steps["from before"]) == (8, 9, None)
    assert (steps["beside late"], steps["beside next"], steps["behind all"]) == (8, 9, 9)
    assert (steps["on a stream without launches"], steps["there before all launches"]) == (9, None)
    assert (steps["other thread"], steps["at the border"]) == (8, 9)
    rows = {row["step"]: row for row in reading.rows("steps")}
    assert (rows[8]["host_start_ns"], rows[8]["host_end_ns"]) == (1_000, 2_000)
    assert (rows[8]["device_start_ns"], rows[8]["device_end_ns"]) == (2_500, 2_522)
    assert (rows[9]["device_start_ns"], rows[9]["device_end_ns"]) == (2_680, 9_010)
    assert {row["marks_from"] for row in rows.values()} == {"profiler_step"}
    assert reading.named("ProfilerStep#8")["kind"] == "step"
    assert "no_step_marks" not in reading.codes


def test_without_marks_one_step_reaches_from_the_first_launch_to_the_last_device_work(opened: Opened) -> None:
    events = [
        operator("long before", 1_000, 10),
        operator("around the launch", 4_990, 30),
        call("cudaLaunchKernel", 5_000, 10, 1),
        kernel("from before", 4_000, 10, 9),
        kernel("k", 5_010, 50, 1),
        operator("behind", 7_000, 20),
    ]
    reading = opened(events)
    (step,) = reading.rows("steps")
    assert (step["host_start_ns"], step["host_end_ns"], step["marks_from"]) == (5_000, 5_061, "window")
    inside = {row["name"] for row in reading.rows("slices") if row["step"] == step["step"]}
    assert inside == {"around the launch", "cudaLaunchKernel", "k"}
    assert reading.codes == {"no_step_marks": 1}


def test_without_marks_and_launches_one_step_holds_the_device_work(opened: Opened) -> None:
    (step,) = opened([operator("a", 1_000, 10), kernel("k", 5_010, 50, 3)]).rows("steps")
    assert (step["host_start_ns"], step["host_end_ns"]) == (5_010, 5_061)


def test_without_marks_and_device_one_step_holds_the_operators(opened: Opened) -> None:
    (step,) = opened([annotation("import", 10, 900), operator("a", 1_000, 10), operator("b", 5_000, 20)]).rows("steps")
    assert (step["host_start_ns"], step["host_end_ns"]) == (1_000, 5_021)


def test_a_kernel_named_like_a_step_marks_none(opened: Opened) -> None:
    events = [
        complete("gpu_user_annotation", "ProfilerStep#3", 1_000, 10, pid=0, tid=7),
        annotation("not ProfilerStep#3", 1_000, 10),
        annotation("ProfilerStep # 4", 2_000, 10),
    ]
    assert [row["step"] for row in opened(events).rows("steps")] == [4]


def test_phases_follow_from_what_surrounds_the_launch(opened: Opened) -> None:
    backward = "autograd::engine::evaluate_function: MmBackward0"
    events = [
        annotation("ProfilerStep#1", 1_000, 9_000),
        annotation("enumerate(DataLoader)#_Iter.__next__", 1_100, 100),
        operator("aten::mm", 2_000, 100),
        call("cudaLaunchKernel", 2_010, 10, 1),
        operator(backward, 3_000, 1_000, tid=2),
        operator("aten::mm_backward", 3_100, 100, tid=2),
        call("cudaLaunchKernel", 3_110, 10, 2, tid=2),
        annotation("Optimizer.step#SGD.step", 5_000, 1_000),
        operator("aten::add_", 5_100, 100),
        call("cudaLaunchKernel", 5_110, 10, 3),
        annotation("Optimizer.zero_grad#SGD.zero_grad", 6_500, 100),
        operator("after the step", 20_000, 100),
        kernel("k1", 7_000, 10, 1),
        kernel("k2", 7_100, 20, 2),
        kernel("k3", 7_200, 10, 3),
        kernel("k4", 7_300, 10, 99),
    ]
    reading = opened(events)
    phases = {row["name"]: row["phase"] for row in reading.rows("slices") if row["name"] != "cudaLaunchKernel"}
    assert phases == {
        "ProfilerStep#1": None,
        "enumerate(DataLoader)#_Iter.__next__": "data",
        "aten::mm": "forward",
        backward: "backward",
        "aten::mm_backward": "backward",
        "Optimizer.step#SGD.step": "optimizer",
        "aten::add_": "optimizer",
        "Optimizer.zero_grad#SGD.zero_grad": "optimizer",
        "after the step": None,
        "k1": "forward",
        "k2": "backward",
        "k3": "optimizer",
        "k4": None,
    }
    (step,) = reading.rows("steps")
    assert (step["forward_start_ns"], step["first_operator"]) == (7_000, "aten::mm")
    assert (step["backward_end_ns"], step["last_operator"]) == (7_120, "aten::mm_backward")


# operators, modules, stacks


def test_the_operator_behind_device_work_is_the_innermost_around_its_launch(opened: Opened) -> None:
    events = [
        operator("aten::linear", 1_000, 1_000, **{"External id": 10}),
        operator("aten::addmm", 1_100, 500, **{"External id": 11}),
        call("cudaLaunchKernel", 1_200, 10, 1),
        kernel("by time", 3_000, 10, 1, **{"External id": 99}),  # an annotation, not an operator
        kernel("by id", 4_000, 10, 2, **{"External id": 10}),  # its launch is not in the file
        kernel("by nothing", 5_000, 10, 3),
        call("cudaMalloc", 9_000, 10, 4),
    ]
    found = {row["name"]: row["operator"] for row in opened(events).rows("slices")}
    assert found["by time"] == "aten::addmm"
    assert found["by id"] == "aten::linear"
    assert found["by nothing"] is None
    assert found["cudaLaunchKernel"] == "aten::addmm"
    assert found["cudaMalloc"] is None


def test_old_writers_spell_the_external_id_in_lower_case(opened: Opened) -> None:
    events = [
        complete("Operator", "aten::mm", 1_000, 100, **{"external id": 4}),
        complete("Kernel", "k", 3_000, 10, pid=0, tid=7, stream=7, correlation=9, **{"external id": 4}),
    ]
    assert opened(events).named("k")["operator"] == "aten::mm"


def frame(name: str, start_ns: int, dur_ns: int, **args: Any) -> Event:
    return complete("python_function", name, start_ns, dur_ns, pid=100, **args)


def test_modules_and_stacks_come_from_the_python_frames_around(opened: Opened) -> None:
    events = [
        frame("train.py(3): main", 1_000, 9_000),
        frame("nn.Module: Net_0", 2_000, 5_000),
        frame("net.py(7): forward", 2_100, 4_000),
        frame("nn.Module: Linear_1", 2_200, 1_000),
        operator("aten::linear", 2_300, 100),
        call("cudaLaunchKernel", 2_310, 10, 1),
        operator("aten::relu", 4_000, 100),
        operator("aten::zero_", 8_000, 100),
        kernel("k", 20_000, 10, 1),
    ]
    reading = opened(events)
    rows = {row["name"]: row for row in reading.rows("slices")}
    frames = {row["stack"]: row["frames"] for row in reading.rows("stacks")}
    assert rows["aten::linear"]["module"] == rows["k"]["module"] == "Net_0/Linear_1"
    assert rows["aten::relu"]["module"] == "Net_0"
    assert rows["aten::zero_"]["module"] is None
    whole = "train.py(3): main\nnn.Module: Net_0\nnet.py(7): forward\nnn.Module: Linear_1"
    assert frames[rows["aten::linear"]["stack"]] == frames[rows["k"]["stack"]] == whole
    assert frames[rows["aten::relu"]["stack"]] == "train.py(3): main\nnn.Module: Net_0\nnet.py(7): forward"
    assert frames[rows["aten::zero_"]["stack"]] == "train.py(3): main"
    assert rows["nn.Module: Linear_1"]["kind"] == "module"
    assert rows["net.py(7): forward"]["kind"] == "python"


def test_modules_and_stacks_that_operators_state_are_handed_down(opened: Opened) -> None:
    stated = {"Call stack": "net.py(7): forward;train.py(3): main;", "Module Hierarchy": "Net.Linear"}
    events = [
        operator("aten::linear", 1_000, 1_000, **stated),
        operator("aten::addmm", 1_100, 500),
        call("cudaLaunchKernel", 1_200, 10, 1),
        operator("aten::other", 4_000, 100),
        kernel("k", 3_000, 10, 1),
    ]
    reading = opened(events)
    frames = {row["stack"]: row["frames"] for row in reading.rows("stacks")}
    for name in ("aten::linear", "aten::addmm", "k"):
        row = reading.named(name)
        assert row["module"] == "Net.Linear", name
        assert frames[row["stack"]] == "train.py(3): main\nnet.py(7): forward", name
    other = reading.named("aten::other")
    assert (other["module"], other["stack"]) == (None, None)


def test_shapes_and_types_are_kept_as_recorded(opened: Opened) -> None:
    own = {"Input Dims": [[2, 3], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "1"], "Ev Idx": 4}
    reading = opened([operator("aten::add", 1_000, 10, **own)])
    row = reading.named("aten::add")
    assert (json.loads(row["input_shapes"]), json.loads(row["dtypes"])) == ([[2, 3], []], ["float", "Scalar"])
    (details,) = reading.rows("details")
    assert details["json"] == compact(own)


# memory


def test_blocks_live_from_their_allocation_to_the_free_at_their_address(opened: Opened) -> None:
    events = [
        operator("aten::empty", 1_000, 500),
        memory(1_100, 512, 0xA000, 512),
        memory(1_200, 256, 0xB000, 768),
        memory(2_000, -512, 0xA000, 256),
        memory(3_000, 128, 0xA000, 384),  # the address again
        memory(3_500, 64, 0xB000, 448),  # again, and the free of 256 bytes is lost
        memory(4_000, -1_024, 0xC000, 448),  # from before the window
        memory(5_000, 32, 0xA000, 32, device=-1, device_type=0),  # another device has its own addresses
    ]
    reading = opened(events)
    keys = ("device", "address", "bytes", "alloc_ns", "free_ns", "before_window", "lost_free", "operator")
    found = [tuple(row[key] for key in keys) for row in reading.rows("allocations")]
    assert sorted(found, key=lambda row: (row[0], row[3] or 0)) == [
        ("cpu", 0xA000, 32, 5_000, None, False, False, None),
        ("cuda:0", 0xC000, 1_024, None, 4_000, True, False, None),
        ("cuda:0", 0xA000, 512, 1_100, 2_000, False, False, "aten::empty"),
        ("cuda:0", 0xB000, 256, 1_200, None, False, True, "aten::empty"),
        ("cuda:0", 0xA000, 128, 3_000, None, False, False, None),
        ("cuda:0", 0xB000, 64, 3_500, None, False, False, None),
    ]
    curve = [(row["device"], row["time_ns"], row["allocated"], row["reserved"]) for row in reading.rows("memory")]
    assert sorted(curve) == [
        ("cpu", 5_000, 32, 4_096),
        ("cuda:0", 1_100, 512, 4_096),
        ("cuda:0", 1_200, 768, 4_096),
        ("cuda:0", 2_000, 256, 4_096),
        ("cuda:0", 3_000, 384, 4_096),
        ("cuda:0", 3_500, 448, 4_096),
        ("cuda:0", 4_000, 448, 4_096),
    ]
    assert [row["name"] for row in reading.rows("slices")] == ["aten::empty"]


def test_memory_events_at_one_moment_keep_the_order_of_the_file(opened: Opened) -> None:
    reading = opened([memory(1_000, 8, 16, 8), memory(1_000, -8, 16, 0), memory(1_000, 24, 16, 24)])
    found = sorted((row["bytes"], row["alloc_seq"], row["free_seq"]) for row in reading.rows("allocations"))
    assert found == [(8, 0, 1), (24, 2, None)]


def test_memory_events_that_lack_what_matters_are_counted(opened: Opened) -> None:
    broken = [memory(1_000, 8, 16, 8) for _ in range(3)]
    del broken[0]["args"]["Bytes"]
    broken[1]["args"]["Addr"] = None
    broken[2]["ts"] = "later"
    reading = opened([memory(2_000, 8, 16, 8), *broken])
    assert len(reading.rows("allocations")) == 1
    assert reading.codes["memory_event_incomplete"] == 2
    assert reading.codes["memory_without_address"] == 1


# communication


def communication(name: str, **more: Any) -> dict[str, Any]:
    own = {"Collective name": name, "dtype": "BFloat16", "In msg nelems": 100, "Out msg nelems": 400, "Seq": 12}
    own |= {"Process Group Name": "3", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3]"}
    return own | {"Group size": 4} | more


def test_a_collective_kernel_carries_its_group_size_and_sequence(opened: Opened) -> None:
    events = [
        annotation("ProfilerStep#2", 1_000, 1_000),
        call("cudaLaunchKernel", 1_500, 10, 1),
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5_000, 70, 1, stream=20, **communication("allreduce")),
        kernel("ncclDevKernel_AllGather", 6_000, 70, 2, stream=20, **communication("_allgather_base", Seq=13)),
        kernel("ncclDevKernel_SendRecv", 7_000, 70, 3, stream=20, **communication("send", **{"Dst Rank": 1})),
        kernel("ncclDevKernel_SendRecv", 8_000, 70, 4, stream=20, **communication("recv", **{"Src Rank": 2})),
        kernel("my_own_reduction", 9_000, 70, 5, stream=20, **communication("reduce_scatter", dtype="Float8_new")),
        kernel("ncclKernel_AllReduce_TREE_LL_Sum_float", 9_500, 10, 6, stream=20),
        kernel("gemm", 9_600, 10, 7),
    ]
    reading = opened(events)
    keys = ("slice", "kind", "group", "seq", "bytes", "dtype", "peer", "step", "start_ns", "end_ns", "stream")
    found = [
        tuple(row[key] for key in keys) for row in sorted(reading.rows("collectives"), key=lambda row: row["slice"])
    ]
    assert found == [
        (2, "all_reduce", "3", 12, 200, "BFloat16", None, 2, 5_000, 5_070, 20),
        (3, "all_gather", "3", 13, 800, "BFloat16", None, 2, 6_000, 6_070, 20),
        (4, "send", "3", 12, 200, "BFloat16", 1, 2, 7_000, 7_070, 20),
        (5, "receive", "3", 12, 200, "BFloat16", 2, 2, 8_000, 8_070, 20),
        (6, "reduce_scatter", "3", 12, None, "Float8_new", None, 2, 9_000, 9_070, 20),
        (7, "all_reduce", None, None, None, None, None, 2, 9_500, 9_510, 20),
    ]
    assert {row["name"]: row["kind"] for row in reading.rows("slices")}["gemm"] == "kernel"


def test_a_kernel_takes_what_it_does_not_say_from_the_operator_that_enqueued_it(opened: Opened) -> None:
    events = [
        operator("record_param_comms", 1_000, 100, **{"External id": 5}, **communication("allreduce")),
        call("cudaLaunchKernel", 1_010, 10, 1, **{"External id": 5}),
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 5_000, 70, 1, **{"External id": 5}),
    ]
    (row,) = opened(events).rows("collectives")
    assert (row["slice"], row["kind"], row["group"], row["bytes"]) == (2, "all_reduce", "3", 200)


def test_host_collectives_are_annotations_of_cpu_backends_only(opened: Opened) -> None:
    events = [
        annotation("gloo:all_reduce", 1_000, 500),
        annotation("nccl:all_reduce", 2_000, 500),  # only the enqueueing
        complete("gpu_user_annotation", "gloo:all_reduce", 3_000, 10, pid=0, tid=7),
    ]
    reading = opened(events)
    found = [
        (row["slice"], row["kind"], row["start_ns"], row["end_ns"], row["stream"])
        for row in reading.rows("collectives")
    ]
    assert found == [(0, "all_reduce", 1_000, 1_500, None)]
    assert [row["kind"] for row in sorted(reading.rows("slices"), key=lambda row: row["slice"])] == [
        "collective",
        "annotation",
        "annotation",
    ]


def test_groups_are_stated_as_lists_or_as_texts(tmp_path: Path) -> None:
    config = [
        {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [1, 0]},
        {"pg_name": "1", "pg_desc": "tp", "pg_size": 2, "ranks": "[0, 1]"},
        {"pg_name": 2, "pg_size": 512, "ranks": "[0, 1, 2, ...]"},
    ]
    events = [
        kernel("ncclDevKernel_AllReduce", 1_000, 5, 1, **communication("allreduce")),
        kernel("ncclDevKernel_AllReduce", 2_000, 5, 2, **communication("allreduce", **{"Process Group Name": "1"})),
    ]
    path = write(tmp_path / "t.json", document(events, distributedInfo={"rank": 0, "pg_config": config}))
    rows = stepscope.load(path, progress=False).table("groups").collect().to_dicts()
    found = {row["group"]: (row["name"], row["ranks"], row["origin"]) for row in rows}
    assert found == {
        "0": ("default_pg", [1, 0], "distributedInfo"),
        "1": ("tp", [0, 1], "distributedInfo"),
        "2": (None, None, "distributedInfo"),
        "3": ("default_pg", [0, 1, 2, 3], "calls"),
    }


# counters, marks, categories


def test_each_number_of_a_counter_is_a_series(opened: Opened) -> None:
    def counter(name: str, time_ns: int, **args: Any) -> Event:
        return {"ph": "C", "cat": "hardware_counters", "name": name, "pid": "GPU 0", "ts": us(time_ns), "args": args}

    events = [
        operator("a", 1_000, 10),
        counter("SM Active", 3_000, **{"": 0.75}),
        counter("SM Active", 2_000, **{"": 0.5}),
        counter("Memory", 2_000, read=1, write="2.5", unit="GB", on=True, bad=None),
    ]
    reading = opened(events)
    names = {row["track"]: row["name"] for row in reading.rows("tracks") if row["kind"] == "counter"}
    found = [(names[row["track"]], row["time_ns"], row["value"]) for row in reading.rows("counters")]
    assert sorted(found) == [
        ("Memory read", 2_000, 1.0),
        ("Memory write", 2_000, 2.5),
        ("SM Active", 2_000, 0.5),
        ("SM Active", 3_000, 0.75),
    ]
    in_order = [row["time_ns"] for row in reading.rows("counters") if names[row["track"]] == "SM Active"]
    assert in_order == [2_000, 3_000]


def test_instants_are_marks_without_length(opened: Opened) -> None:
    mark = {"name": "Iteration Start", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace", "ts": us(1_500)}
    row = opened([operator("a", 1_000, 10), mark]).named("Iteration Start")
    assert (row["kind"], row["start_ns"], row["dur_ns"]) == ("mark", 1_500, 0)


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("Operator", "operator"),
        ("operator", "operator"),
        ("CPU_OP", "operator"),
        ("Runtime", "runtime"),
        ("Kernel", "kernel"),
        ("Memcpy", "copy"),
        ("Memset", "copy"),
        ("Python", "python"),
        ("python_function", "python"),
        ("cuda_driver", "runtime"),
        ("mtia_runtime", "runtime"),
        ("xpu_driver", "runtime"),
        ("privateuse1_runtime", "runtime"),
        ("hpu_op", "operator"),
        ("gpu_user_annotation", "annotation"),
        ("cuda_sync", "sync"),
        ("overhead", "overhead"),
        ("Trace", "annotation"),
    ],
)
def test_categories_of_all_ages_and_backends_have_a_kind(category: str, kind: str, opened: Opened) -> None:
    reading = opened([complete(category, "x", 1_000, 10)])
    assert reading.named("x")["kind"] == kind
    assert "category_unknown" not in reading.codes


def test_old_device_categories_take_part_in_everything(opened: Opened) -> None:
    events = [
        complete("Runtime", "cudaLaunchKernel", 1_000, 10, pid=100, correlation=1),
        complete("Kernel", "k", 2_000, 10, pid=0, tid=7, correlation=1, stream=7),
        complete("Memcpy", "Memcpy DtoD", 3_000, 10, pid=0, tid=7, correlation=2, stream=7, bytes=64),
    ]
    reading = opened(events)
    assert links(reading, "launch") == [(0, 1)]
    assert (reading.named("Memcpy DtoD")["bytes"], reading.named("k")["core"]) == (64, "GPU")


def test_an_unknown_category_is_kept_and_counted(opened: Opened) -> None:
    reading = opened([complete("zebra", "a", 1_000, 10), complete("zebra", "b", 2_000, 10), operator("c", 1, 1)])
    assert reading.named("a")["kind"] == "annotation"
    assert reading.codes["category_unknown"] == 2


def test_device_slices_that_do_no_work_have_no_core(opened: Opened) -> None:
    events = [
        complete("cuda_sync", "Stream Sync", 1_000, 10, pid=0, tid=7, stream=7, correlation=1),
        complete("gpu_user_annotation", "span", 1_000, 10, pid=0, tid=7),
        kernel("k", 2_000, 5, 2),
    ]
    cores = {row["name"]: row["core"] for row in opened(events).rows("slices")}
    assert cores == {"Stream Sync": None, "span": None, "k": "GPU"}


# --- hostile input ----------------------------------------------------------------------------------------

NASTY: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    Literal("1e999"),
    Literal("-1e-999"),
    Literal("1" * 400),
    10**30,
    -(10**30),
    2**31,
    -(2**40),
    2**61,
    2**62,
    2**63,
    2**64,
    "",
    "text",
    "1e3",
    "9" * 4_400,  # more digits than Python turns into an integer
    "\u0000",
    "名前 🚀",
    Literal('"\\ud800"'),
    Literal("NaN"),
    Literal("-Infinity"),
    Literal("N/A"),
    [],
    [1, [2, {"a": None}]],
    {},
    {"a": {"b": []}},
]
SOUND = training_steps(1)
SOUND_NAMES = sorted(event["name"] for event in SOUND if event["ph"] == "X")
KINDS_OF_EVENTS: dict[str, Event] = {
    "complete": operator("victim", 1_100_000, 500, **{"External id": 3}),
    "kernel": kernel("victim", 1_200_000, 500, 555),
    "memory": memory(1_300_000, 64, 0xF000, 64),
    "counter": {"ph": "C", "cat": "c", "name": "victim", "pid": 1, "tid": 1, "ts": us(1_400_000), "args": {"v": 1}},
    "flow": flow("s", "fwdbwd", 77, 1_010_000),
    "mark": {"ph": "i", "name": "victim", "pid": 1, "tid": 1, "ts": us(1_500_000), "s": "g"},
    "begin": {"ph": "B", "name": "victim", "pid": 1, "tid": 9, "ts": us(1_600_000), "args": {"a": 1}},
    "end": {"ph": "E", "name": "victim", "pid": 1, "tid": 9, "ts": us(1_700_000)},
    "async": {"ph": "b", "cat": "a", "id": 4, "name": "victim", "pid": 1, "tid": 9, "ts": us(1_600_000)},
    "name": named("thread_name", "victim", pid=100, tid=1),
    "order": named("process_sort_index", 3, pid=100),
}


def sound_ones(reading: Reading) -> list[str]:
    return sorted(row["name"] for row in reading.rows("slices") if row["name"] in set(SOUND_NAMES))


@pytest.mark.parametrize("field", ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id"])
def test_a_field_of_any_type_harms_no_other_event(field: str, opened: Opened) -> None:
    damaged = [event | {field: value} for event in KINDS_OF_EVENTS.values() for value in NASTY]
    without = [{key: value for key, value in event.items() if key != field} for event in KINDS_OF_EVENTS.values()]
    reading = opened([*SOUND, *damaged, *without])
    assert sound_ones(reading) == SOUND_NAMES


@pytest.mark.parametrize(
    "key",
    [
        "External id",
        "correlation",
        "stream",
        "bytes",
        "Input Dims",
        "Input type",
        "Call stack",
        "Module Hierarchy",
        "Collective name",
        "Process Group Name",
        "Process Group Description",
        "Process Group Ranks",
        "Seq",
        "dtype",
        "In msg nelems",
        "Out msg nelems",
        "Src Rank",
        "Dst Rank",
        "device",
    ],
)
def test_an_argument_of_any_type_harms_no_other_event(key: str, opened: Opened) -> None:
    own = communication("send", dtype="ComplexDouble") | {"External id": 1, "correlation": 555, "stream": 3}
    events = list(SOUND)
    for place, value in enumerate(NASTY):
        args = own | {key: value}
        events.append(complete("cpu_op", "record_param_comms", 1_100_000 + place, 1, pid=100, **args))
        events.append(complete("kernel", "ncclDevKernel_victim", 1_100_000 + place, 1, pid=0, tid=3, **args))
        events.append(complete("gpu_memcpy", "victim", 1_200_000 + place, 1, pid=0, tid=3, **args))
        events.append(complete("cuda_runtime", "victim", 1_300_000 + place, 1, pid=100, tid=5, **args))
    reading = opened(events)
    assert sound_ones(reading) == SOUND_NAMES
    assert len(reading.rows("collectives")) == len(NASTY)


@pytest.mark.parametrize("key", ["Bytes", "Addr", "Total Allocated", "Total Reserved", "Device Type", "Device Id"])
def test_a_memory_argument_of_any_type_harms_no_other_event(key: str, opened: Opened) -> None:
    events = list(SOUND)
    for place, value in enumerate(NASTY):
        event = memory(1_100_000 + place, 64, 0xF0000 + place, 64)
        event["args"][key] = value
        events.append(event)
    reading = opened(events)
    assert sound_ones(reading) == SOUND_NAMES
    assert {(row["address"], row["bytes"]) for row in reading.rows("allocations")} >= {(4_096, 512)}


@pytest.mark.parametrize("value", NASTY, ids=lambda value: repr(value)[:20])
def test_metadata_of_any_type_does_not_keep_the_events_from_being_read(value: Any, opened: Opened) -> None:
    keys = ["deviceProperties", "distributedInfo", "displayTimeUnit", "record_shapes", "with_stack", "host_name"]
    keys += ["traceName", "WARNING", "ERROR", "INFO", "cupti_version", "trace_id", "PT_PROFILER_JOB_NAME", "metadata"]
    reading = opened(list(SOUND), **dict.fromkeys(keys, value))
    assert sound_ones(reading) == SOUND_NAMES
    group = {"pg_name": value, "pg_desc": value, "backend_config": value, "pg_size": value, "ranks": value}
    device = {"id": 0} | dict.fromkeys(("name", "totalGlobalMem", "numSms", "computeMajor"), value)
    info = {"rank": 0, "backend": value, "world_size": value, "pg_count": value, "nccl_version": value}
    info |= {"pg_config": [group, value, {"pg_name": "0", "ranks": [value, 1]}]}
    lists = {"deviceProperties": [value, device], "WARNING": [value], "distributedInfo": info}
    reading = opened({"traceEvents": SOUND, **lists})
    assert sound_ones(reading) == SOUND_NAMES


@pytest.mark.parametrize("value", [*NASTY, 43 * 10**17], ids=lambda value: repr(value)[:20])
def test_a_base_time_of_any_type_drops_nothing_in_silence(value: Any, opened: Opened) -> None:
    reading = opened(list(SOUND), baseTimeNanoseconds=value)
    assert sound_ones(reading) == SOUND_NAMES or reading.codes.keys() - {"no_step_marks"}


ABSURD = Literal("1.0e300000")  # as an integer, some seconds of work; with two digits more, hours


@pytest.mark.parametrize(
    "metadata",
    [
        {"baseTimeNanoseconds": ABSURD},
        {"host_name": ABSURD, "cupti_version": ABSURD, "WARNING": [ABSURD]},
        {"distributedInfo": {"rank": 0, "world_size": ABSURD}},
        {"distributedInfo": {"rank": 0, "pg_config": [{"pg_name": ABSURD, "ranks": [ABSURD]}]}},
        {"deviceProperties": [{"id": 0, "totalGlobalMem": ABSURD}]},
    ],
    ids=["base", "texts", "world", "group", "device"],
)
def test_a_number_with_an_absurd_exponent_costs_no_time(metadata: dict[str, Any], opened: Opened) -> None:
    with at_most(2):
        reading = opened(list(SOUND), **metadata)
    assert sound_ones(reading) == SOUND_NAMES


def test_durations_that_are_absent_or_negative_become_zero_and_are_counted(opened: Opened) -> None:
    absent, negative = operator("absent", 1_000, 5), operator("negative", 2_000, 5) | {"dur": us(-7)}
    del absent["dur"]
    reading = opened([absent, negative, operator("word", 3_000, 5) | {"dur": "long"}, operator("good", 4_000, 5)])
    assert {row["name"]: row["dur_ns"] for row in reading.rows("slices")} == {
        "absent": 0,
        "negative": 0,
        "word": 0,
        "good": 5,
    }
    assert (reading.codes["duration_missing"], reading.codes["duration_negative"]) == (2, 1)


def test_an_overflown_duration_is_dropped_and_counted(opened: Opened) -> None:
    week = 7 * 86_400 * 10**9
    events = [operator("week", 1_000, week), operator("overflow", 1_000, week + 1), operator("good", 4_000, 5)]
    reading = opened(events)
    assert {row["name"] for row in reading.rows("slices")} == {"week", "good"}
    assert reading.codes["duration_absurd"] == 1


def test_one_event_at_time_zero_does_not_stretch_the_axis_to_1970(opened: Opened) -> None:
    now = 1_736_405_443_871_466_840
    events = [operator(f"op {number}", now + number * 1_000, 10) for number in range(5)]
    reading = opened([operator("lost", 0, 10), *events])
    (rank,) = reading.rows("ranks")
    assert rank["first_ns"] == now
    assert reading.codes["event_far_away"] == 1
    assert len(reading.rows("slices")) == 5


def test_an_event_without_a_time_is_counted(opened: Opened) -> None:
    timeless = operator("timeless", 0, 1)
    del timeless["ts"]
    reading = opened([timeless, operator("good", 1_000, 1)])
    assert [row["name"] for row in reading.rows("slices")] == ["good"]
    assert reading.codes["event_without_time"] == 1


def test_times_as_texts_are_times(opened: Opened) -> None:
    event = operator("a", 0, 0) | {"ts": "1736405443871466.840", "dur": "1.5", "pid": "7", "tid": "x"}
    row = opened([event]).named("a")
    assert (row["start_ns"], row["dur_ns"]) == (1_736_405_443_871_466_840, 1_500)


@pytest.mark.parametrize(
    "damage",
    [
        b'"note": "caf\xe9"',
        b'"note": "C:\\dir"',
        b'"note": NaN',
        b'"note": N/A',
        b'"note": "a\nb"',
        b'"note": "\\ud800"',
    ],
)
def test_damage_inside_arguments_does_not_cost_the_launch(damage: bytes, opened: Opened) -> None:
    launch = compact(call("cudaLaunchKernel", 1_000, 10, 7)).encode()
    device = compact(kernel("k", 2_000, 10, 7, mark="here")).encode().replace(b'"mark": "here"', damage)
    assert damage in device
    reading = opened(b'{"schemaVersion": 1, "traceEvents": [' + launch + b",\n" + device + b"]}")
    assert links(reading, "launch") == [(0, 1)]
    assert reading.named("k")["stream"] == 7


def test_the_last_of_equal_argument_keys_wins(opened: Opened) -> None:
    text = compact(document([call("cudaLaunchKernel", 1_000, 10, 7), kernel("k", 2_000, 10, 3)]))
    reading = opened(text.replace('"correlation": 3', '"correlation": 3, "correlation": 7'))
    assert links(reading, "launch") == [(0, 1)]


@pytest.mark.parametrize(
    "events",
    [
        [named("process_name", "python", pid=1)],
        [flow("s", "fwdbwd", 1, 5), flow("f", "fwdbwd", 1, 6)],
        [memory(1_000, 8, 16, 8)],
        [KINDS_OF_EVENTS["counter"]],
        [KINDS_OF_EVENTS["mark"]],
        [KINDS_OF_EVENTS["begin"]],
        [KINDS_OF_EVENTS["end"]],
        [KINDS_OF_EVENTS["async"]],
        [{}],
        [{}, {"ph": None}, {"ph": "Q"}],
    ],
    ids=["metadata", "flows", "memory", "counter", "mark", "begin", "end", "async", "empty", "unknown"],
)
def test_a_trace_with_one_kind_of_event_opens(events: list[Event], opened: Opened) -> None:
    reading = opened(events)
    assert len(reading.rows("ranks")) == 1


def test_a_trace_without_any_event_is_refused(opened: Opened) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        opened([])
    assert caught.value.code == "no_events"


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.7, 0.9, 0.99])
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_a_killed_job_leaves_its_whole_events(cut: float, zipped: bool, tmp_path: Path) -> None:
    events = training_steps(40)
    whole = write(tmp_path / "whole.json", document(events), zipped=zipped).read_bytes()
    path = tmp_path / "cut.json"
    path.write_bytes(whole[: int(len(whole) * cut)])
    reading = read(path)
    names = [row["name"] for row in sorted(reading.rows("slices"), key=lambda row: row["slice"])]
    expected = [event["name"] for event in events if event["ph"] == "X"]
    assert 0 < len(names) < len(expected)
    assert names == expected[: len(names)]
    assert reading.codes.keys() & {"file_truncated", "gzip_truncated"}


def test_python_frames_nested_without_end_do_not_fill_the_memory(opened: Opened) -> None:
    depth = 5_000
    events = [frame(f"recursive.py(7): function_{number % 7}", number, 2 * (depth - number)) for number in range(depth)]
    events.append(operator("inside", depth, 0))
    with at_most(20), PeakMemory() as peak:
        reading = opened(events)
    assert len(reading.rows("slices")) == depth + 1
    assert peak.grown_bytes < 300 << 20


def test_modules_nested_without_end_do_not_fill_the_memory(opened: Opened) -> None:
    depth = 5_000
    events = [
        frame(f"nn.Module: TransformerDecoderBlock_{number % 7}", number, 2 * (depth - number))
        for number in range(depth)
    ]
    with at_most(20), PeakMemory() as peak:
        reading = opened(events)
    assert len(reading.rows("slices")) == depth
    assert peak.grown_bytes < 300 << 20


def test_a_category_and_a_thread_for_each_event_take_linear_time(opened: Opened) -> None:
    count = 20_000
    events = [complete(f"category {number}", "x", number, 1, tid=number) for number in range(count)]
    with at_most(30):
        reading = opened(events)
    assert len(reading.rows("slices")) == count
    assert reading.codes["category_unknown"] == count


# mutations


def mutations(text: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Copies with a few bytes changed, removed, doubled or moved, the same ones each time."""
    chance = random.Random(seed)
    alphabet = b'{}[],:"\\ \n0159-.eENaNull\x00\x1f\xff\xc3('
    for _ in range(count):
        mutant = bytearray(text)
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            at = chance.randrange(len(mutant))
            length = chance.choice((1, 1, 3, 40))
            kind = chance.randrange(5)
            if kind == 0:
                mutant[at] = chance.choice(alphabet)
            elif kind == 1:
                del mutant[at : at + length]
            elif kind == 2:
                mutant[at:at] = mutant[at : at + length]
            elif kind == 3:
                mutant[at:at] = bytes(chance.choices(alphabet, k=length))
            else:
                there = chance.randrange(len(mutant))
                mutant[there:there] = mutant[at : at + length]
        yield bytes(mutant)


def read_or_refuse(path: Path) -> Reading | None:
    """Only an error of ours may come out of a reader."""
    try:
        return read(path)
    except StepscopeError as error:
        assert str(error)
        return None


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_no_mutation_of_a_trace_raises_anything_but_our_errors(layout: Callable[[Any], str], tmp_path: Path) -> None:
    info = {"rank": 1, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}
    events = [*training_steps(1), *KINDS_OF_EVENTS.values(), kernel("ncclX", 5_000, 5, 9, **communication("send"))]
    text = layout(document(events, distributedInfo=info, baseTimeNanoseconds=10**18)).encode()
    path = tmp_path / "mutant.json"
    survivors = 0
    for mutant in mutations(text, 60, seed=len(text)):
        path.write_bytes(mutant)
        with at_most(10):
            survivors += read_or_refuse(path) is not None
    assert survivors > 30


def test_no_mutation_of_a_gzip_raises_anything_but_our_errors(tmp_path: Path) -> None:
    zipped = write(tmp_path / "t.json", document(training_steps(3)), zipped=True).read_bytes()
    path = tmp_path / "mutant.json.gz"
    for mutant in mutations(zipped, 40, seed=5):
        path.write_bytes(mutant)
        with at_most(10):
            read_or_refuse(path)


def test_no_mutation_of_a_real_sample_raises_anything_but_our_errors(shared_data: Path, tmp_path: Path) -> None:
    text = gzip.decompress((shared_data / "kineto" / "ddp4" / "ddp_rank0.json.gz").read_bytes())
    path = tmp_path / "mutant.json"
    for mutant in mutations(text, 15, seed=11):
        path.write_bytes(mutant)
        with at_most(20):
            reading = read_or_refuse(path)
        if reading is not None and "event_dropped" not in reading.codes and "file_truncated" not in reading.codes:
            assert len(reading.rows("slices")) > 1_000


def test_the_values_that_hurt_are_valid_where_they_claim_to_be() -> None:
    parsed = list(map(partial(json.loads, parse_constant=str), (compact(v) for v in NASTY if v != Literal("N/A"))))
    assert len(parsed) == len(NASTY) - 1
