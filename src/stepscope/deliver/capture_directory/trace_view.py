"""``trace_view.json``: the timeline in the processes and threads that the documents name.

Vendor tools find things by these names: operators under ``Python`` (MindSpore: ``CPU OP``), calls under ``CANN``,
device tasks under ``Ascend Hardware``, whole communication calls under ``HCCL`` in a thread per group, and computed
lanes under ``Overlap Analysis``. A process without content is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.analysis.copies import copy_kind
from stepscope.analysis.foundation.intervals import Intervals, difference, joined, union
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE
from stepscope.analysis.timeline.clock import RankClock, RunClock
from stepscope.analysis.timeline.lanes import rank_lanes
from stepscope.deliver.capture_directory.communication_calls import CommunicationCall, communication_calls
from stepscope.deliver.capture_directory.rank_data import RankData

# Process and its position from the top.
_PROCESSES: Final = {
    "Python": 1,
    "MindSpore": 1,
    "CPU OP": 2,
    "CANN": 3,
    "Ascend Hardware": 4,
    "HCCL": 5,
    "Overlap Analysis": 6,
}
_OF_THE_DEVICE: Final = ("Ascend Hardware", "HCCL", "Overlap Analysis")
_PROCESS_OF_KIND: Final = {
    "runtime": "CANN",
    "kernel": "Ascend Hardware",
    "copy": "Ascend Hardware",
    "wait": "Ascend Hardware",
    "comm_task": "HCCL",
    "collective": "HCCL",
}
_MARKERS: Final = {"torch": "ProfilerStep#{step}", "mindspore": "Python::PythonObserved::ProfilerStep#{step}"}
_CATEGORIES: Final = {"operator": "cpu_op", "step": "cpu_op", "python": "python_function", "module": "python_function"}
# Arrows: from operator to device, and from call to device.
_FLOWS: Final = {
    "operator_launch": "async_npu",
    "launch": "HostToDevice",
    "forward_backward": "fwdbwd",
    "queue": "async_task_queue",
}
_TASK_TYPES: Final = {"copy": "MEMCPY_ASYNC", "wait": "EVENT_WAIT", "sync": "EVENT_RECORD"}
_TELLS_COPIES: Final = "Level2"
_LANES: Final = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


def write_trace_view(data: RankData, path: Path) -> None:
    """One JSON array of Chrome trace events; times are exact microseconds, as text."""
    with path.open("w", encoding="utf-8") as file:
        separator = "["
        for event in _events(data):
            file.write(separator + event)
            separator = ",\n"
        file.write("]\n" if separator != "[" else "[]\n")


def _slices(data: RankData) -> pl.DataFrame:
    columns = ["slice", "track", "row", "start_ns", "dur_ns", "name", "kind", "correlation", "stream", "operator"]
    more = ["core", "input_shapes", "dtypes", "stack", "bytes"]
    slices = data.scan("slices").filter(pl.col("kind") != "reported").select(*columns, *more)
    tracks = data.store.scan("tracks", [data.rank]).select("track", track_name="name", track_kind="kind")
    host = pl.lit(_host_process(data))
    process = pl.col("kind").cast(pl.String).replace_strict(_PROCESS_OF_KIND, default=None, return_dtype=pl.String)
    on_host = ~pl.col("track_kind").cast(pl.String).is_in(["stream", "plane"])
    operators = pl.lit("CPU OP") if data.backend == "mindspore" else host
    return (
        slices.join(tracks, on="track", how="left", maintain_order="left")
        .with_columns(
            process=pl.when(on_host & (process == "Ascend Hardware"))
            .then(host)
            .when(pl.col("kind") == "operator")
            .then(operators)
            .otherwise(pl.coalesce(process, host))
        )
        .collect()
    )


def _host_process(data: RankData) -> str:
    return "MindSpore" if data.backend == "mindspore" else "Python"


def _events(data: RankData) -> Iterator[str]:
    slices, markers = _slices(data), _step_markers(data)
    calls = {call.slice: call for call in communication_calls(data)}
    lanes = _overlap(data)
    used = set(slices["process"].unique())
    used |= {_host_process(data)} if markers else set()
    used |= {"Overlap Analysis"} if any(len(lane.start) for lane in lanes) else set()
    for name, pid in _PROCESSES.items():
        if name in used:
            yield _meta("process_name", pid, 0, name=name)
            label = data.device.partition(":")[0] if name in _OF_THE_DEVICE else "CPU"
            yield _meta("process_labels", pid, 0, labels="CPU" if label == "CPU" else "NPU")
            yield _meta("process_sort_index", pid, 0, sort_index=pid)
    yield from _thread_names(slices, calls)
    marker_thread = 1 + int(slices["track"].max() or 0) if len(slices) else 0  # type: ignore[arg-type]
    yield from _marker_events(markers, _PROCESSES[_host_process(data)], marker_thread)
    yield from _slice_events(slices, calls, copies_told=data.switches.get("profiler_level") == _TELLS_COPIES)
    yield from _flow_events(data, slices)
    yield from _overlap_events(lanes)


def _step_markers(data: RankData) -> list[tuple[str, int, int]]:
    """Name, start and end of steps that no slice marks."""
    if not data.has_steps or not data.scan("slices").filter(pl.col("kind") == "step").head(1).collect().is_empty():
        return []
    rows = data.scan("steps").select("step", "host_start_ns", "host_end_ns").drop_nulls().collect()
    return [(_MARKERS[data.backend].format(step=step), start, end) for step, start, end in rows.iter_rows()]


def _marker_events(markers: list[tuple[str, int, int]], pid: int, tid: int) -> Iterator[str]:
    if markers:
        yield _meta("thread_name", pid, tid, name="Steps")
    for name, start, end in markers:
        event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": _micro(start), "dur": (end - start) / 1000}
        yield _dump({**event, "cat": "cpu_op", "args": {}})


def _thread_names(slices: pl.DataFrame, calls: dict[int, CommunicationCall]) -> Iterator[str]:
    """Names and order of threads; those of whole calls tell their group, and its planes follow."""
    groups = {group: number for number, group in enumerate(sorted({call.group for call in calls.values()}))}
    threads = slices.group_by("process", "track", "track_name").agg(pl.col("slice").first()).sort("process", "track")
    for process, track, recorded, first in threads.iter_rows():
        name = str(recorded)
        if process == "HCCL" and first in calls and "Communication" not in name:
            name = f"Group {groups[calls[first].group]} Communication"
        yield _meta("thread_name", _PROCESSES[process], track, name=name)
        yield _meta("thread_sort_index", _PROCESSES[process], track, sort_index=track)


def _task_type(row: dict[str, Any]) -> str:
    """The vendor's name for what executes a device task."""
    return _TASK_TYPES.get(row["kind"]) or str(row["core"] or row["kind"])


def _copy(row: dict[str, Any]) -> dict[str, Any]:
    """How much was copied, and where to."""
    kind = copy_kind(row["name"] or "") or copy_kind(row["operator"] or "")
    return {"data size(Byte)": row["bytes"], "memcpy direction": kind.replace("_", " ") if kind else None}


def _slice_events(slices: pl.DataFrame, calls: dict[int, CommunicationCall], *, copies_told: bool) -> Iterator[str]:
    for row in slices.iter_rows(named=True):
        call = calls.get(row["slice"])
        arguments = {
            "Task Type": _task_type(row) if row["process"] == "Ascend Hardware" else None,
            "Stream Id": row["stream"],
            "correlation_id": row["correlation"],
            "Input Dims": row["input_shapes"],
            "Input type": row["dtypes"],
            "recorded name": row["name"] if call is not None and call.name != row["name"] else None,
        }
        if copies_told and row["kind"] == "copy":
            arguments |= _copy(row)
        yield _dump(
            {
                "ph": "X" if row["kind"] != "mark" else "i",
                "name": row["name"] if call is None else call.name,
                "pid": _PROCESSES[row["process"]],
                "tid": row["track"],
                "ts": _micro(row["start_ns"]),
                "dur": row["dur_ns"] / 1000,
                "cat": _CATEGORIES.get(row["kind"], ""),
                "args": {key: value for key, value in arguments.items() if value is not None},
            }
        )


def _flow_events(data: RankData, slices: pl.DataFrame) -> Iterator[str]:
    places = slices.select("slice", "process", "track", "start_ns")
    links = (
        data.store.scan("links", [data.rank])
        .filter(pl.col("kind").cast(pl.String).is_in(list(_FLOWS)))
        .collect()
        .join(places, left_on="from_slice", right_on="slice", maintain_order="left")
        .join(places, left_on="to_slice", right_on="slice", suffix="_to", maintain_order="left")
    )
    for number, row in enumerate(links.iter_rows(named=True), 1):
        category = _FLOWS[row["kind"]]
        for phase, suffix in (("s", ""), ("f", "_to")):
            yield _dump(
                {
                    "ph": phase,
                    "bp": "e",
                    "name": category if category != "HostToDevice" else f"HostToDevice{number}",
                    "id": str(number),
                    "pid": _PROCESSES[row[f"process{suffix}"]],
                    "tid": row[f"track{suffix}"],
                    "ts": _micro(row[f"start_ns{suffix}"]),
                    "cat": category,
                }
            )


def _overlap_events(lanes: tuple[Intervals, ...]) -> Iterator[str]:
    """The four computed lanes."""
    pid = _PROCESSES["Overlap Analysis"]
    for tid, (name, lane) in enumerate(zip(_LANES, lanes, strict=True)):
        if not len(lane.start):
            continue
        yield _meta("thread_name", pid, tid, name=name)
        for start, end in zip(lane.start.tolist(), lane.end.tolist(), strict=True):
            event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": _micro(start), "dur": (end - start) / 1000}
            yield _dump({**event, "args": {}})


def _overlap(data: RankData) -> tuple[Intervals, Intervals, Intervals, Intervals]:
    """Computing, communication, communication alone and free time: by the vendor's rules, to which copies are free
    time; on a host that computes by itself those of the timeline, over the time of all steps."""
    work = data.work
    if not work.on_device:
        as_recorded = RunClock(0, 0, {data.rank: RankClock()})
        rank_rows = rank_lanes(data.store, data.rank, as_recorded)
        computing, communication, exposed, _, free = (lane.clipped(*rank_rows.span) for lane in rank_rows.lanes)
        return computing, communication, exposed, free
    compute, communication = (
        union(work.start[work.of(lane)], work.end[work.of(lane)]) for lane in (COMPUTE, COMMUNICATION)
    )
    busy = joined(compute, communication)
    free = busy.gaps(int(busy.start[0]), int(busy.end[-1])) if len(busy.start) else busy
    return compute, communication, difference(communication, compute), free


def _meta(name: str, pid: int, tid: int, /, **arguments: Any) -> str:
    return _dump({"ph": "M", "name": name, "pid": pid, "tid": tid, "args": arguments})


def _dump(event: dict[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _micro(nanoseconds: int) -> str:
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"
