"""Any other Chrome trace: pairs, asynchronous events, counters, arrows, JAX and VizTracer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.errors import UnreadableInputError
from support.limits import at_most
from support.reading import Reading, read
from support.traces import Event, complete, flow, named, us, write

Opened = Callable[..., Reading]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Reads a list of events, a document or a text, which must be taken for a plain Chrome trace."""

    def open_it(content: Any) -> Reading:
        reading = read(write(tmp_path / "trace.json", content))
        assert reading.reader == "chrome"
        return reading

    return open_it


def event(phase: str, name: str, time_ns: int, *, pid: Any = 1, tid: Any = 1, **more: Any) -> Event:
    return {"ph": phase, "name": name, "pid": pid, "tid": tid, "ts": us(time_ns), **more}


def spans(reading: Reading) -> list[tuple[str, int, int]]:
    """Name, start and end of each slice, in time order."""
    found = [(row["name"], row["start_ns"], row["start_ns"] + row["dur_ns"]) for row in reading.rows("slices")]
    return sorted(found, key=lambda span: (span[1], -span[2], span[0]))


# --- begins and ends --------------------------------------------------------------------------------------


def test_begins_and_ends_are_paired_by_nesting_on_each_thread(opened: Opened) -> None:
    events = [
        event("B", "outer", 1_000),
        event("B", "other thread", 1_100, tid=2),
        event("B", "inner", 2_000),
        event("E", "inner", 3_000),
        event("E", "", 4_000, tid=2),  # an end needs no name
        event("E", "outer", 5_000),
        event("B", "again", 5_000),
        event("E", "again", 5_000),
    ]
    reading = opened(events)
    assert spans(reading) == [
        ("outer", 1_000, 5_000),
        ("other thread", 1_100, 4_000),
        ("inner", 2_000, 3_000),
        ("again", 5_000, 5_000),
    ]
    assert reading.named("inner")["parent"] == reading.named("outer")["slice"] == 0
    assert set(reading.codes) == {"no_step_marks"}


def test_pairs_are_found_whatever_their_order_in_the_file(opened: Opened) -> None:
    events = [event("E", "a", 4_000), event("E", "b", 3_000), event("B", "b", 2_000), event("B", "a", 1_000)]
    assert spans(opened(events)) == [("a", 1_000, 4_000), ("b", 2_000, 3_000)]


def test_a_begin_without_end_lasts_to_the_last_moment_of_its_thread(opened: Opened) -> None:
    events = [
        event("E", "ended before", 500),
        event("B", "open", 1_000),
        event("B", "closed", 2_000),
        event("E", "closed", 3_000),
        event("B", "other thread", 9_000, tid=2),
        event("E", "other thread", 9_500, tid=2),
    ]
    reading = opened(events)
    assert spans(reading) == [("open", 1_000, 3_000), ("closed", 2_000, 3_000), ("other thread", 9_000, 9_500)]
    assert (reading.codes["begin_without_end"], reading.codes["end_without_begin"]) == (1, 1)


def test_begins_without_end_take_linear_time(opened: Opened) -> None:
    count = 100_000
    with at_most(12):
        reading = opened([event("B", "open", number) for number in range(count)])
    assert {end for _, _, end in spans(reading)} == {count - 1}


def test_asynchronous_events_are_paired_by_category_and_id(opened: Opened) -> None:
    events = [
        event("b", "request", 1_000, cat="net", id=1),
        event("b", "request", 2_000, cat="net", id="0x2"),
        event("b", "request", 2_500, cat="disk", id=1),
        event("n", "progress", 2_600, cat="net", id=1),
        event("e", "request", 3_000, cat="net", id=1, tid=7),  # ends on another thread
        event("e", "request", 4_000, cat="disk", id=1),
        event("e", "request", 5_000, cat="net", id="0x2"),
        complete(None, "work", 1_500, 5_000),
    ]
    reading = opened(events)
    assert spans(reading) == [
        ("request", 1_000, 3_000),
        ("work", 1_500, 6_500),
        ("request", 2_000, 5_000),
        ("request", 2_500, 4_000),
        ("progress", 2_600, 2_600),
    ]
    work = reading.named("work")
    assert (work["row"], work["parent"]) == (0, None)  # what overlaps at will stands on a track of its own
    assert not reading.codes.keys() & {"begin_without_end", "end_without_begin"}


def test_asynchronous_events_nest_by_id(opened: Opened) -> None:
    events = [
        event("b", "outer", 1_000, cat="c", id=1),
        event("b", "inner", 2_000, cat="c", id=1),
        event("e", "inner", 3_000, cat="c", id=1),
        event("e", "outer", 4_000, cat="c", id=1),
    ]
    assert spans(opened(events)) == [("outer", 1_000, 4_000), ("inner", 2_000, 3_000)]


def test_old_asynchronous_events_are_pairs_too(opened: Opened) -> None:
    events = [event("S", "load", 1_000, cat="c", id=9), event("F", "load", 2_500, cat="c", id=9)]
    assert spans(opened(events)) == [("load", 1_000, 2_500)]


# --- instants, counters, arrows, names --------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["i", "I", "R"])
def test_instants_are_marks(phase: str, opened: Opened) -> None:
    row = opened([event(phase, "now", 1_234)]).named("now")
    assert (row["kind"], row["start_ns"], row["dur_ns"]) == ("mark", 1_234, 0)


def test_each_number_of_a_counter_is_a_series(opened: Opened) -> None:
    events = [
        event("C", "queue", 1_000, args={"waiting": 3, "running": 1}),
        event("C", "queue", 2_000, args={"waiting": "4"}),
        event("C", "queue", 1_500, args={"queue": 7.5}),
        event("C", "queue", 1_600, args={"state": "full"}),
        event("C", "queue", 1_700),
    ]
    reading = opened(events)
    names = {row["track"]: row["name"] for row in reading.rows("tracks")}
    found = sorted((names[row["track"]], row["time_ns"], row["value"]) for row in reading.rows("counters"))
    assert found == [
        ("queue", 1_500, 7.5),
        ("queue running", 1_000, 1.0),
        ("queue waiting", 1_000, 3.0),
        ("queue waiting", 2_000, 4.0),
    ]


def test_arrows_join_the_slices_around_their_ends(opened: Opened) -> None:
    events = [
        complete(None, "outer", 1_000, 1_000),
        complete(None, "sender", 1_100, 100),
        complete(None, "receiver", 5_000, 100, tid=2),
        flow("s", "send", "0xa", 1_150, pid=1),
        flow("f", "send", "0xa", 5_000, pid=1, tid=2),
    ]
    (link,) = opened(events).rows("links")
    assert (link["kind"], link["from_slice"], link["to_slice"]) == ("flow", 1, 2)


def test_threads_and_processes_have_the_names_of_the_metadata_events(opened: Opened) -> None:
    events = [
        complete(None, "a", 1_000, 10, pid=7, tid=8),
        named("process_name", "server", pid=7),
        named("thread_name", "worker", pid=7, tid=8),
        complete(None, "b", 1_000, 10, pid="text", tid="thread"),
    ]
    rows = {row["name"]: row["process"] for row in opened(events).rows("tracks")}
    assert rows == {"worker": "server", "thread": "text"}


def test_phases_that_mean_nothing_here_are_counted(opened: Opened) -> None:
    objects = [event(phase, "object", 1_000, id=1) for phase in "NOD"]
    reading = opened([complete(None, "a", 1_000, 10), *objects, {"name": "no phase", "ts": 5}])
    assert reading.codes["event_phase_ignored"] == 3
    assert reading.codes["event_without_phase"] == 1


# --- files ------------------------------------------------------------------------------------------------

ONE = '{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}'


@pytest.mark.parametrize(
    "text",
    [
        f"[{ONE}]",
        f"[{ONE},",
        f"[\n{ONE},\n]",
        f"[{ONE}, {{}}]",
        f'{{"traceEvents": [{ONE}]}}',
        f'{{"traceEvents": [{ONE}',
        f'{{"displayTimeUnit": "ns", "traceEvents": [{ONE}], "otherData": {{"version": "x"}}}}',
        f'\ufeff{{"otherData": null, "traceEvents": [{ONE}]}}',
        f"[{ONE}][{ONE}]",
    ],
)
def test_arrays_and_objects_open_complete_or_not(text: str, opened: Opened) -> None:
    rows = opened(text).rows("slices")
    assert {(row["name"], row["start_ns"], row["dur_ns"]) for row in rows} == {("a", 1_500, 2_000)}


def test_a_file_of_arguments_and_times_of_all_sorts(opened: Opened) -> None:
    events = [
        {"ph": "X", "name": "double", "pid": 1, "tid": 1, "ts": 12.3456, "dur": 0.0015, "args": {"b": 1, "a": [2]}},
        {"ph": "X", "name": "text", "pid": 1, "tid": 1, "ts": "20", "dur": "1e1", "args": "words"},
        {"ph": "X", "name": "none", "pid": 1, "tid": 1, "ts": 40, "args": {}},
    ]
    reading = opened(events)
    assert spans(reading) == [("double", 12_346, 12_348), ("text", 20_000, 30_000), ("none", 40_000, 40_000)]
    details = {row["slice"]: json.loads(row["json"]) for row in reading.rows("details")}
    assert details[0] == {"b": 1, "a": [2]}
    assert 2 not in details
    (rank,) = reading.rows("ranks")
    assert (rank["clock_base_ns"], rank["device_kind"], rank["framework"]) == (0, "cpu", None)


def test_an_empty_trace_is_refused(tmp_path: Path) -> None:
    for text in ("[]", '{"traceEvents": []}'):
        with pytest.raises(UnreadableInputError) as caught:
            read(write(tmp_path / "trace.json", text))
        assert caught.value.code == "no_events"


# --- JAX --------------------------------------------------------------------------------------------------


def jax_trace() -> dict[str, Any]:
    """As XProf exports it: no categories, texts for numbers, synthetic process ids, an empty object at the end."""

    def x(pid: int, tid: int, name: str, start_ns: int, dur_ns: int, **args: str) -> Event:
        return complete(None, name, start_ns, dur_ns, pid=pid, tid=tid, **args)

    events = [
        named("process_name", "/device:GPU:0", pid=1),
        named("process_sort_index", 1, pid=1),
        named("thread_name", "Stream #13(Compute,MemcpyD2D)", pid=1, tid=13),
        named("thread_name", "XLA Modules", pid=1, tid=2),
        named("thread_name", "Steps", pid=1, tid=3),
        named("process_name", "/host:CPU", pid=701),
        named("thread_name", "python", pid=701, tid=55),
        x(701, 55, "train", 1_000_000, 900_000, step_num="7", _r="1"),
        x(701, 55, "train", 2_000_000, 900_000, step_num="8", _r="1"),
        x(701, 55, "$loop.py:12 main", 900_000, 3_000_000),
        x(701, 55, "PjitFunction(step)", 1_100_000, 100_000),
        x(1, 13, "fusion.3", 1_200_000, 50_123, hlo_op="fusion.3", correlation_id="77"),
        x(1, 13, "fusion.3", 2_200_000, 50_124, hlo_op="fusion.3"),
        x(1, 2, "jit_step", 1_200_000, 60_000),
        x(1, 3, "7", 1_200_000, 60_000, step_num="7"),
        {},
    ]
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}


def test_a_jax_trace_has_steps_kernels_and_frames(opened: Opened) -> None:
    reading = opened(jax_trace())
    steps = [
        (row["step"], row["host_start_ns"], row["host_end_ns"], row["marks_from"]) for row in reading.rows("steps")
    ]
    assert steps == [(7, 1_000_000, 1_900_000, "step_num"), (8, 2_000_000, 2_900_000, "step_num")]
    kernels = [row for row in reading.rows("slices") if row["kind"] == "kernel"]
    assert [(row["name"], row["dur_ns"], row["step"], row["core"]) for row in kernels] == [
        ("fusion.3", 50_123, 7, "GPU"),
        ("fusion.3", 50_124, 8, "GPU"),
    ]
    assert {row["name"] for row in reading.rows("slices") if row["kind"] == "reported"} == {"jit_step", "7"}
    assert reading.named("$loop.py:12 main")["kind"] == "python"
    assert reading.named("PjitFunction(step)")["kind"] == "annotation"
    (rank,) = reading.rows("ranks")
    assert (rank["framework"], rank["device_kind"]) == ("jax", "gpu")
    assert reading.codes == {}
    kinds = {row["name"]: row["kind"] for row in reading.rows("tracks")}
    assert kinds["Stream #13(Compute,MemcpyD2D)"] == "stream"
    assert (kinds["XLA Modules"], kinds["python"]) == ("vendor", "host")


def test_what_xla_computes_on_the_host_are_operators(opened: Opened) -> None:
    """As jax.profiler writes it without an accelerator: operations lie on a thread of the client's, with their name."""
    events = [
        named("process_name", "/host:CPU", pid=701),
        named("thread_name", "python", pid=701, tid=55),
        named("thread_name", "tf_XLAPjRtCpuClient/-378", pid=701, tid=56),
        complete(None, "train", 1_000_000, 900_000, pid=701, tid=55, step_num="0"),
        complete(None, "PjitFunction(step)", 1_100_000, 100_000, pid=701, tid=55),
        complete(None, "dot", 1_300_000, 70_000, pid=701, tid=56, hlo_module="jit_step", hlo_op="dot", run_id="-18"),
        complete(None, "end: dot", 1_371_000, 1_000, pid=701, tid=56, _src="thunk_executor.cc"),
        {},
    ]
    reading = opened({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events})
    assert {row["name"]: row["kind"] for row in reading.rows("slices")} == {
        "train": "step",
        "PjitFunction(step)": "annotation",
        "dot": "operator",
        "end: dot": "annotation",
    }
    assert reading.named("dot")["step"] == 0


def test_ranges_that_are_named_after_steps_mark_them(opened: Opened) -> None:
    events = [complete(None, f"step {number}", 1_000_000 * number, 900_000, pid=1) for number in (3, 4)]
    events.append(complete(None, "load", 3_100_000, 200_000, pid=1))
    reading = opened(events)
    assert [(row["step"], row["host_start_ns"], row["marks_from"]) for row in reading.rows("steps")] == [
        (3, 3_000_000, "range"),
        (4, 4_000_000, "range"),
    ]
    assert reading.named("load")["step"] == 3
    assert reading.codes == {}


def test_device_work_of_jax_has_its_kind_and_its_launch(opened: Opened) -> None:
    def x(pid: int, tid: int, name: str, start_ns: int, **args: str) -> Event:
        return complete(None, name, start_ns, 1_000, pid=pid, tid=tid, **args)

    events = [
        named("process_name", "/device:GPU:0", pid=1),
        named("thread_name", "Stream #13(Compute)", pid=1, tid=13),
        named("process_name", "/host:CPU", pid=701),
        x(701, 5, "train", 0, step_num="4"),
        x(701, 5, "train", 20_000, step_num="5"),
        x(701, 5, "cuLaunchKernel", 200, correlation_id="5"),
        x(701, 5, "cuLaunchKernel", 20_100, correlation_id="5"),  # a repeated id: the first call counts
        x(701, 5, "Memcpy of the host", 20_300),
        x(1, 13, "fusion", 20_000, correlation_id="5"),
        x(1, 13, "MemcpyD2H", 22_000, correlation_id="6"),
        x(1, 13, "Memset 4 B", 24_000),
        x(1, 13, "ncclDevKernel_AllReduce_Sum_f32", 26_000),
    ]
    reading = opened({"traceEvents": events})
    kinds = {row["name"]: row["kind"] for row in reading.rows("slices")}
    assert kinds == {
        "train": "step",
        "cuLaunchKernel": "runtime",
        "Memcpy of the host": "annotation",
        "fusion": "kernel",
        "MemcpyD2H": "copy",
        "Memset 4 B": "copy",
        "ncclDevKernel_AllReduce_Sum_f32": "collective",
    }
    (link,) = reading.rows("links")
    assert (link["kind"], link["from_slice"], link["to_slice"]) == ("launch", 5, 8)
    fusion, copy = reading.named("fusion"), reading.named("MemcpyD2H")
    assert (fusion["step"], fusion["correlation"], copy["step"], copy["core"]) == (4, 5, 4, "GPU")


def _xla(device: str, threads: list[str], spans: list[tuple[str, str, int, int]]) -> list[Event]:
    """A device as XProf writes it: spans are (thread, name, start, length)."""
    events = [named("process_name", device, pid=1)]
    events += [named("thread_name", thread, pid=1, tid=tid) for tid, thread in enumerate(threads, 1)]
    return events + [
        complete(None, name, start, length, pid=1, tid=1 + threads.index(thread))
        for thread, name, start, length in spans
    ]


def test_operations_of_a_tpu_communicate_by_their_names(opened: Opened) -> None:
    threads = ["Steps", "XLA Modules", "XLA Ops", "Async XLA Ops", "Framework Name Scope"]
    spans = [
        ("Steps", "1", 0, 100_000),
        ("XLA Modules", "jit_step(123)", 0, 100_000),
        ("XLA Ops", "fusion.7", 0, 40_000),
        ("XLA Ops", "all-reduce.2", 40_000, 20_000),
        ("XLA Ops", "all-gather-done.1", 60_000, 5_000),
        ("XLA Ops", "collective-permute-start.4", 65_000, 1_000),
        ("XLA Ops", "all-reduce-scatter-fusion", 66_000, 4_000),
        ("XLA Ops", "reduce.3", 70_000, 10_000),
        ("XLA Ops", "copy.12", 80_000, 2_000),  # a change of layout by the core itself
        ("XLA Ops", "copy-done.5", 82_000, 8_000),
        ("Async XLA Ops", "copy-start.5", 10_000, 75_000),
        ("Async XLA Ops", "all-gather-start.1", 20_000, 44_000),
        ("Framework Name Scope", "train", 0, 100_000),
    ]
    reading = opened({"traceEvents": _xla("/device:TPU:0", threads, spans)})
    of_kind = {
        kind: {row["name"] for row in reading.rows("slices") if row["kind"] == kind}
        for kind in {row["kind"] for row in reading.rows("slices")}
    }
    assert of_kind == {
        "reported": {"1", "jit_step(123)", "train"},
        "kernel": {"fusion.7", "reduce.3", "copy.12"},
        "copy": {"copy-done.5", "copy-start.5"},
        "collective": {
            *("all-reduce.2", "all-gather-done.1", "collective-permute-start.4"),
            *("all-reduce-scatter-fusion", "all-gather-start.1"),
        },
    }
    kinds = {row["name"]: row["kind"] for row in reading.rows("collectives")}
    assert kinds == {
        "all-reduce.2": "all_reduce",
        "all-gather-done.1": "all_gather",
        "collective-permute-start.4": "send_receive",
        "all-reduce-scatter-fusion": "all_reduce",
        "all-gather-start.1": "all_gather",
    }
    assert reading.rows("ranks")[0]["device_kind"] == "tpu"


def test_operations_of_a_gpu_sum_up_the_kernels_of_its_streams(opened: Opened) -> None:
    threads = [
        "XLA Modules",
        "XLA Ops",
        "TensorFlow Ops",
        "TensorFlow Name Scope",
        "Launch Stats",
        "Stream #13(Compute)",
    ]
    spans = [(thread, f"from {thread}", 0, 50_000) for thread in threads]
    reading = opened({"traceEvents": _xla("/device:GPU:0", threads, spans)})
    assert [row["name"] for row in reading.rows("slices") if row["kind"] == "kernel"] == ["from Stream #13(Compute)"]
    assert {row["kind"] for row in reading.rows("slices")} == {"kernel", "reported"}


def test_steps_whose_number_is_none_are_no_steps(opened: Opened) -> None:
    events = [complete(None, "train", 1_000 + place, 10, step_num=value) for place, value in enumerate(("x", "", "-1"))]
    reading = opened([*events, complete(None, "train", 5_000, 10, step_num=3)])
    assert [row["step"] for row in reading.rows("steps")] == [3]


# --- VizTracer --------------------------------------------------------------------------------------------


def test_the_functions_of_a_viztracer_file_are_its_operators(opened: Opened) -> None:
    events = [
        named("process_name", "MainProcess", pid=9),
        named("thread_name", "MainThread", pid=9, tid=9),
        complete("FEE", "main (a.py:1)", 1_000, 1_000, pid=9, tid=9),
        complete("FEE", "helper (a.py:9)", 1_100, 100, pid=9, tid=9),
    ]
    source = 'def helper(): return "}, {"\n' * 50
    around = {
        "viztracer_metadata": {"version": "1.0.0", "overflow": False},
        "file_info": {"files": {"a.py": [source, 99]}, "functions": {"main (a.py:1)": ["a.py", 1]}},
    }
    reading = opened({"traceEvents": events, **around})
    assert [(row["name"], row["kind"], row["row"]) for row in reading.rows("slices")] == [
        ("main (a.py:1)", "operator", 0),
        ("helper (a.py:9)", "operator", 1),
    ]
    assert set(reading.codes) == {"no_step_marks"}


def test_the_functions_that_py_spy_sampled_are_operators(opened: Opened) -> None:
    """As py-spy record --format chrometrace writes them: begins and ends, by thread."""
    around = {"cat": "py-spy", "pid": 9, "tid": 9, "args": {"filename": "job.py", "line": 4}}
    events = [
        around | {"ph": phase, "name": name, "ts": at}
        for phase, name, at in (("B", "main", 1), ("B", "step", 2), ("E", "step", 5), ("E", "main", 9))
    ]
    reading = opened(events)
    assert {(row["name"], row["kind"], row["dur_ns"]) for row in reading.rows("slices")} == {
        ("main", "operator", 8_000),
        ("step", "operator", 3_000),
    }


@pytest.mark.parametrize("content", [jax_trace(), [complete("FEE", "f", 1_000, 10)], f"[{ONE}"])
def test_such_files_open_as_runs(content: Any, tmp_path: Path) -> None:
    run = stepscope.load(write(tmp_path / "some.trace.json.gz", content), progress=False)
    assert run.ranks == [0]
    assert run.sql("SELECT count(*) FROM slices").item() > 0
