"""A Chrome export that is read again holds the same slices, kinds, links and series as the original."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope import deliver
from stepscope.run import Run
from support.traces import Event, annotation, call, complete, document, flow, kernel, named, operator, us, write

Slice = tuple[str, int, int, str]


def _again(trace: Path, folder: Path) -> tuple[Run, Run, Path]:
    """The run of a trace, and that of its export."""
    original = stepscope.load(trace, store=folder / "store", progress=False)
    out = folder / "out" / "trace.json"
    assert list(deliver.export(original.store, "chrome", out, captures=[trace])) == [out]
    return original, stepscope.load(out, store=folder / "store", progress=False), out


def _slices(run: Run) -> dict[int, Slice]:
    rows = run.sql("SELECT slice, name, start_ns, dur_ns, kind FROM slices").rows()
    return {row[0]: (str(row[1]), row[2], row[3], str(row[4])) for row in rows}


def _links(run: Run) -> Counter[tuple[str, Slice, Slice]]:
    slices = _slices(run)
    rows = run.sql("SELECT kind, from_slice, to_slice FROM links").rows()
    return Counter((str(kind), slices[begin], slices[end]) for kind, begin, end in rows)


def _assert_same(original: Run, again: Run) -> None:
    assert Counter(_slices(again).values()) == Counter(_slices(original).values())
    assert _links(again) == _links(original)
    counters = "SELECT time_ns, value FROM counters ORDER BY ALL"
    assert again.sql(counters).rows() == original.sql(counters).rows()


def _pytorch_events() -> list[Event]:
    stream: dict[str, Any] = {"pid": 0, "tid": 7}
    return [
        annotation("ProfilerStep#5", 1_000, 90_000),
        complete("gpu_user_annotation", "ProfilerStep#5", 20_000, 60_000, **stream),
        complete("gpu_user_annotation", "gloo:barrier", 20_000, 1_000, **stream),
        annotation("gloo:all_reduce", 3_000, 1_000),
        annotation("my own", 5_000, 1_000),
        operator("aten::mm", 10_000, 5_000),
        call("cudaLaunchKernel", 11_000, 1_000, 31),
        kernel("gemm", 21_000, 5_000, 31),
        call("cudaLaunchKernel", 12_500, 1_000, 32),
        kernel("ncclDevKernel_AllReduce_Sum_f32", 30_000, 5_000, 32),
        complete("kernel", "one that says so", 36_000, 100, **stream) | {"args": {"Collective name": "allreduce"}},
        complete("cuda_sync", "Stream Wait Event", 40_000, 1_000, **stream),
        complete("cuda_event", "cudaEvent", 42_000, 0, **stream),
        complete("cuda_event", "cudaEvent", 43_000, 10, **stream),
        complete("gpu_memcpy", "Memcpy HtoD", 44_000, 10, **stream),
        complete("overhead", "Buffer Flush", 50_000, 100, pid=100),
        complete("python_function", "nn.Module: Linear_0", 9_000, 8_000, pid=100),
        complete("python_function", "train.py(3): f", 8_000, 10_000, pid=100),
        {"ph": "i", "s": "t", "name": "now", "pid": 100, "tid": 1, "ts": us(60_000), "args": {"why": "test"}},
        operator("MmBackward0", 70_000, 5_000, tid=2),
        flow("s", "fwdbwd", 1, 10_500),
        flow("f", "fwdbwd", 1, 70_500, tid=2),
        flow("s", "my arrows", 1, 10_500),
        flow("f", "my arrows", 1, 70_500, tid=2),
    ]


def test_a_pytorch_trace_is_the_same_again(tmp_path: Path) -> None:
    original, again, out = _again(write(tmp_path / "trace.json", document(_pytorch_events())), tmp_path)
    kinds = Counter(kind for *_, kind in _slices(original).values())
    expected = {"annotation": 3, "operator": 2, "runtime": 2, "kernel": 1, "collective": 3, "mark": 3}
    assert kinds == expected | dict.fromkeys(("step", "sync", "copy", "overhead", "module", "python"), 1)
    assert Counter(kind for kind, *_ in _links(original).elements()) == {"launch": 2, "forward_backward": 1, "flow": 1}
    _assert_same(original, again)
    steps = "SELECT step, host_start_ns, host_end_ns, device_start_ns, device_end_ns FROM steps"
    assert again.sql(steps).rows() == original.sql(steps).rows()
    tracks = "SELECT kind, count(*) FROM tracks GROUP BY kind ORDER BY ALL"
    assert again.sql(tracks).rows() == original.sql(tracks).rows()
    (mark,) = [event for event in json.loads(out.read_text())["traceEvents"] if event["ph"] == "i" and "args" in event]
    assert (mark["name"], mark["args"], "dur" in mark) == ("now", {"why": "test"}, False)
    assert again.notes == original.notes == []


def test_a_trace_of_another_tool_is_the_same_again(tmp_path: Path) -> None:
    """Names that mean something to PyTorch mean nothing there; a numbered range marks a step anywhere."""
    events = [
        named("process_name", "/device:GPU:0", pid=1),
        named("thread_name", "Stream #13(Compute)", pid=1, tid=13),
        complete(None, "ProfilerStep#3", 0, 10_000, pid=9),
        complete(None, "gloo:all_reduce", 1_000, 1_000, pid=9),
        complete(None, "cuLaunchKernel", 3_000, 1_000, pid=9, correlation_id="5"),
        complete(None, "fusion", 5_000, 1_000, pid=1, tid=13, correlation_id="5"),
        complete(None, "ncclDevKernel_AllReduce", 7_000, 1_000, pid=1, tid=13),
        complete("python", "f", 20_000, 1_000, pid=9),
    ]
    original, again, _ = _again(write(tmp_path / "trace.json", events), tmp_path)
    assert Counter(kind for *_, kind in _slices(original).values()) == {
        "step": 1,
        "annotation": 1,
        "runtime": 1,
        "kernel": 1,
        "collective": 1,
        "python": 1,
    }
    assert [kind for kind, *_ in _links(original)] == ["launch"]
    _assert_same(original, again)


def test_two_processes_of_one_name_stay_two_with_their_own_series(tmp_path: Path) -> None:
    events = [
        *(named("process_name", "python", pid=pid) for pid in (1, 2)),
        *(complete(None, "f", 0, 10_000, pid=pid, tid=pid) for pid in (1, 2)),
        *(
            {"ph": "C", "name": "memory", "pid": pid, "ts": us(time_ns), "args": {"v": 100 * pid + time_ns // 1000}}
            for pid in (1, 2)
            for time_ns in (0, 5_000)
        ),
    ]
    original, again, out = _again(write(tmp_path / "trace.json", events), tmp_path)
    _assert_same(original, again)
    found: dict[int, list[float]] = {}
    for event in json.loads(out.read_text())["traceEvents"]:
        if event["ph"] == "C":
            found.setdefault(event["pid"], []).append(event["args"]["value"])
    assert sorted(found.values()) == [[100.0, 105.0], [200.0, 205.0]]
    assert len({event["pid"] for event in json.loads(out.read_text())["traceEvents"] if event["ph"] == "X"}) == 2


@pytest.mark.parametrize(
    "sample",
    [
        "kineto/h200_plain.json.gz",
        "kineto/gpt_stack.json.gz",
        "kineto/ddp4/ddp_rank0.json.gz",
        "ascend/text_level1/rank0_ascend_pt",
    ],
)
def test_recorded_traces_are_the_same_again(sample: str, shared_data: Path, tmp_path: Path) -> None:
    original, again, _ = _again(shared_data / sample, tmp_path)
    assert len(_slices(original)) > 1000
    assert sum(_links(original).values()) > 100
    _assert_same(original, again)
