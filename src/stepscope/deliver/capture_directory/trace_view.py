"""``trace_view.json``: the timeline in the processes and threads that the documents name.

Vendor tools find things by these names: operators under ``Python``, calls under ``CANN``, device tasks under ``Ascend
Hardware``, whole communication calls under ``HCCL``, and computed lanes under ``Overlap Analysis``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, difference, joined, union
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE
from stepscope.analysis.timeline.clock import RankClock, RunClock
from stepscope.analysis.timeline.lanes import rank_lanes
from stepscope.deliver.capture_directory.rank_data import RankData

# Process, its place from the top, and its label.
_PROCESSES: Final = {
    "Python": (1, "CPU"),
    "CANN": (2, "CPU"),
    "Ascend Hardware": (3, "NPU"),
    "HCCL": (4, "NPU"),
    "Overlap Analysis": (5, "NPU"),
}
_PROCESS_OF_KIND: Final = {
    "runtime": "CANN",
    "kernel": "Ascend Hardware",
    "copy": "Ascend Hardware",
    "wait": "Ascend Hardware",
    "comm_task": "HCCL",
    "collective": "HCCL",
}
_CATEGORIES: Final = {"operator": "cpu_op", "step": "cpu_op", "python": "python_function", "module": "python_function"}
# Arrows: from operator to device, and from call to device.
_FLOWS: Final = {
    "operator_launch": "async_npu",
    "launch": "HostToDevice",
    "forward_backward": "fwdbwd",
    "queue": "async_task_queue",
}
_LANES: Final = ("Computing", "Communication", "Communication(Not Overlapped)", "Free")


def write_trace_view(data: RankData, path: Path) -> None:
    """One JSON array of Chrome trace events; times are exact microseconds, as text."""
    slices = _slices(data)
    with path.open("w", encoding="utf-8") as file:
        separator = "["
        for event in _events(data, slices):
            file.write(separator + event)
            separator = ",\n"
        file.write("]\n" if separator != "[" else "[]\n")


def _slices(data: RankData) -> pl.DataFrame:
    columns = ["slice", "track", "row", "start_ns", "dur_ns", "name", "kind", "correlation", "stream", "operator"]
    slices = (
        data.scan("slices").filter(pl.col("kind") != "reported").select(*columns, "input_shapes", "dtypes", "stack")
    )
    tracks = data.store.scan("tracks", [data.rank]).select("track", track_name="name", track_kind="kind")
    process = pl.col("kind").cast(pl.String).replace_strict(_PROCESS_OF_KIND, default="Python")
    on_host = ~pl.col("track_kind").cast(pl.String).is_in(["stream", "plane"])
    return (
        slices.join(tracks, on="track", how="left")
        .with_columns(
            process=pl.when(on_host & (process == "Ascend Hardware")).then(pl.lit("Python")).otherwise(process)
        )
        .collect()
    )


def _events(data: RankData, slices: pl.DataFrame) -> Iterator[str]:
    for name, (pid, label) in _PROCESSES.items():
        yield _meta("process_name", pid, 0, name=name)
        yield _meta("process_labels", pid, 0, labels=label)
        yield _meta("process_sort_index", pid, 0, sort_index=pid)
    threads = slices.select("process", "track", "track_name").unique().sort("process", "track")
    for process, track, name in threads.iter_rows():
        yield _meta("thread_name", _PROCESSES[process][0], track, name=str(name))
    yield from _slice_events(slices)
    yield from _flow_events(data, slices)
    yield from _overlap_events(data)


def _slice_events(slices: pl.DataFrame) -> Iterator[str]:
    for row in slices.iter_rows(named=True):
        arguments = {
            "Task Type": row["kind"] if row["process"] == "Ascend Hardware" else None,
            "Stream Id": row["stream"],
            "correlation_id": row["correlation"],
            "Input Dims": row["input_shapes"],
            "Input type": row["dtypes"],
        }
        yield _dump(
            {
                "ph": "X" if row["kind"] != "mark" else "i",
                "name": row["name"],
                "pid": _PROCESSES[row["process"]][0],
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
        .join(places, left_on="from_slice", right_on="slice")
        .join(places, left_on="to_slice", right_on="slice", suffix="_to")
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
                    "pid": _PROCESSES[row[f"process{suffix}"]][0],
                    "tid": row[f"track{suffix}"],
                    "ts": _micro(row[f"start_ns{suffix}"]),
                    "cat": category,
                }
            )


def _overlap_events(data: RankData) -> Iterator[str]:
    """The four computed lanes."""
    pid = _PROCESSES["Overlap Analysis"][0]
    for tid, (name, lane) in enumerate(zip(_LANES, _overlap(data), strict=True)):
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
        computing, communication, exposed, _, free = rank_lanes(data.store, data.rank, as_recorded).lanes
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
