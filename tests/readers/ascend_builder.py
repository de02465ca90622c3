"""Small Ascend captures, written by hand: their numbers are chosen so that answers can be told by eye."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.readers import ascend_text
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

HOST_PID, MAIN, WORKER = 100, 100, 101
DEVICE = 3


def process(layer: int) -> int:
    """The number that msprof gives to a process: host process, layer and device."""
    return HOST_PID << 10 | layer << 5 | DEVICE


CANN, HARDWARE, COMMUNICATION, OVERLAP = process(7), process(13), process(15), process(23)
GROUP = "17522688603477080586"


def named(pid: int, name: str, threads: dict[int, str], sort: int = 0) -> list[dict[str, Any]]:
    """Metadata events of one process."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}},
        {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": sort}},
    ]
    for tid, title in threads.items():
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": title}})
        events.append({"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}})
    return events


def span(pid: int, tid: int, ts: str, dur: Any, name: str, args: Any = None, cat: str | None = None) -> dict[str, Any]:
    """A complete event; ``ts`` is text, as Ascend writes it."""
    event: dict[str, Any] = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return event | ({"args": args} if args is not None else {}) | ({"cat": cat} if cat is not None else {})


def arrow(ph: str, cat: str, identity: Any, pid: int, tid: int, ts: str) -> dict[str, Any]:
    """One end of a flow."""
    return {"ph": ph, "bp": "e", "name": cat, "cat": cat, "id": identity, "pid": pid, "tid": tid, "ts": ts}


def task(ts: str, dur: Any, name: str, kind: str, number: int, stream: int = 2, **more: Any) -> dict[str, Any]:
    """A task on a stream."""
    args = {"Model Id": 4294967295, "Task Type": kind, "Physic Stream Id": stream, "Task Id": number}
    return span(HARDWARE, stream, ts, dur, name, {**args, "Batch Id": 0, "Subtask Id": 4294967295} | more)


def plane_task(ts: str, dur: Any, kind: str, plane: int, context: int, peer: int, **more: Any) -> dict[str, Any]:
    """A small communication task of rank 0 on the plane's thread."""
    args: dict[str, Any] = {
        "notify_id": "5",
        "stream id": 4,
        "task id": 8,
        "context id": context,
        "task type": kind,
        "src rank": 0,
        "dst rank": peer,
        "transport type": "SDMA",
        "size(Byte)": 0,
        "data type": "INVALID_TYPE",
        "link type": "INVALID_TYPE",
    }
    return span(COMMUNICATION, plane + 1, ts, dur, kind, args | more)


def host_layers() -> list[dict[str, Any]]:
    """One step on the host: an operator that enqueues, its dequeuing, and two calls of CANN."""
    return [
        *named(HOST_PID, "Python", {MAIN: "Thread 100", WORKER: "Thread 101"}),
        span(HOST_PID, MAIN, "1000.000", 900, "ProfilerStep#7", {"Sequence number": -1}, "cpu_op"),
        span(
            HOST_PID,
            MAIN,
            "1100.000",
            50.5,
            "aten::mm",
            {"Input Dims": "2,3;\r\n3,4", "Input type": "float;\r\nfloat", "Call stack": "b.py(2): g;\r\na.py(1): f"},
            "cpu_op",
        ),
        span(HOST_PID, MAIN, "1050.000", 300, "nn.Module: Net_0", {"Python id": 1}, "python_function"),
        span(HOST_PID, MAIN, "1120.000", 5, "Enqueue", {"correlation_id": 5}, "enqueue"),
        span(HOST_PID, WORKER, "1150.000", 60, "Dequeue@mm", {"correlation_id": 5}, "dequeue"),
        arrow("s", "async_task_queue", 5, HOST_PID, MAIN, "1120.000"),
        arrow("f", "async_task_queue", 5, HOST_PID, WORKER, "1150.000"),
    ]


def cann_layer() -> list[dict[str, Any]]:
    """What level 1 adds: the calls of CANN as slices."""
    call = {"Thread Id": WORKER, "Mode": "launch", "id": "0", "item_id": "0", "connection_id": 9}
    return [
        *named(CANN, "CANN", {WORKER: "Thread 101"}, 7),
        span(CANN, WORKER, "1155.000", 40, "AscendCL@aclnnMm", {**call, "level": "acl"}),
        span(CANN, WORKER, "1160.000", 20, "Node@launch", {**call, "level": "node"}),
    ]


def device_layers() -> list[dict[str, Any]]:
    """Two kernels of one launch, a copy and an event wait."""
    return [
        *named(HARDWARE, "Ascend Hardware", {2: "Stream 2", 4: "Stream 4"}, 13),
        task("1200.001", 20.0005, "MatMul", "AI_CORE", 1, connection_id=9),
        task("1225.000", 10.0015, "Cast", "AI_VECTOR_CORE", 2, connection_id=9),
        task("1240.000", 2, "MEMCPY_ASYNC", "SDMA_SQE", 3, connection_id=10),
        task("1250.000", 0.02003125, "EVENT_WAIT", "EVENT_WAIT_SQE", 4, connection_id=11),
        arrow("s", "HostToDevice", "9", CANN, WORKER, "1165.000"),
        arrow("f", "HostToDevice", "9", HARDWARE, 2, "1200.001"),
        arrow("f", "HostToDevice", "9", HARDWARE, 2, "1225.000"),
        arrow("s", "async_npu", 1200001, HOST_PID, MAIN, "1100.000"),
        arrow("f", "async_npu", 1200001, HARDWARE, 2, "1200.001"),
    ]


def communication_layers() -> list[dict[str, Any]]:
    """One AllReduce of group 586 on two planes; three of its tasks stand on stream 4 too."""
    call = {"connection_id": 12, "model id": 4294967295, "data_type": "FP32", "alg_type": "MESH-RING", "count": 1000}
    threads = {0: "Group 0 Communication", 1: "Plane 0", 2: "Plane 1"}
    copy = {"size(Byte)": 4096, "link type": "HCCS"}
    return [
        *named(COMMUNICATION, "HCCL", threads, 15),
        span(COMMUNICATION, 0, "1300.000", 100, "hcom_allReduce__586_3_1", call),
        plane_task("1300.000", 10, "Notify_Wait", 0, 0, 5, **{"transport type": "LOCAL"}),
        plane_task("1310.000", 30, "Memcpy", 0, 1, 1, **copy),
        plane_task("1300.000", 1, "Notify_Record", 1, 2, 2),
        plane_task("1340.000", 50, "Reduce_Inline", 1, 3, 2, **copy),
        plane_task("1395.000", 2, "Memcpy", 1, 4, 4294967295, **{"size(Byte)": 8, "link type": "ON_CHIP"}),
        task("1300.000", 10, "Notify Wait", "Notify Wait", 8, 4, **{"Subtask Id": 0}),
        task("1310.000", 30, "SDMA", "SDMA", 8, 4, **{"Subtask Id": 1}),
        task("1300.000", 1, "Write Value", "Write Value", 8, 4, **{"Subtask Id": 2}),
    ]


def capture_events() -> list[dict[str, Any]]:
    """A whole level 1 timeline of one step."""
    overlap = [
        *named(OVERLAP, "Overlap Analysis", {0: "Computing", 3: "Free"}, 23),
        span(OVERLAP, 0, "1200.001", 20.001, "Computing"),
    ]
    return host_layers() + cann_layer() + device_layers() + communication_layers() + overlap


KERNEL_HEADER = (
    "Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
    "Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,"
    "aicore_time(us),aic_mac_ratio\r\n"
)
KERNELS = KERNEL_HEADER + (
    '7,4294967295,1,2,MatMul,MatMulV2,dynamic,AI_CORE,1200.001\t,20.001,0,24,"""2,3;3,4""",FLOAT;FLOAT,ND;ND,"""2,4""",'
    "FLOAT,ND,N/A,18.5,0.75\r\n"
    '7,4294967295,2,2,Cast,Cast,static,AI_VECTOR_CORE,1225.000\t,10.002,4.998,8,"""2,4""",FLOAT,ND,"""2,4""",'
    "FLOAT16,ND,N/A,0.0,0.0\r\n"
    "7,4294967295,N/A,N/A,hcom_allReduce__586_3_1,hcom_allReduce_,N/A,HCCL,1299.999\t,100,0,0,N/A,N/A,N/A,N/A,N/A,N/A,"
    "N/A,N/A,N/A\r\n"
)
TIMES = {
    "Start Timestamp(us)": 1300.25,
    "Elapse Time(ms)": 0.1,
    "Transit Time(ms)": 0.08,
    "Wait Time(ms)": 0.01,
    "Synchronization Time(ms)": 0.0099995,
    "Idle Time(ms)": 0.01,
    "Wait Time Ratio": 0.1111,
    "Synchronization Time Ratio": 0.1111,
}
BAND = {
    "Transit Size(MB)": 0.008192,
    "Transit Time(ms)": 0.08,
    "Bandwidth(GB/s)": 0.1024,
    "Large Packet Ratio": 0.0,
    "Size Distribution": {"0.004096": [2, 0.08]},
}
NO_BAND: dict[str, Any] = dict.fromkeys(BAND, 0) | {"Size Distribution": {}}
CALL: dict[str, Any] = {
    "Communication Time Info": TIMES,
    "Communication Bandwidth Info": {"HCCS": BAND, "RDMA": NO_BAND},
}
CALLS: dict[str, Any] = {"step7": {"p2p": {}, "collective": {f"hcom_allReduce__586_3_1@{GROUP}": CALL}}}
LINK = {"Transport Type": "HCCS", "Transit Size(MB)": 0.004096, "Transit Time(ms)": 0.03, "Bandwidth(GB/s)": 0.1365}
LINKS: dict[str, Any] = {
    "step7": {
        "p2p": {},
        "collective": {
            f"allreduce-top1@{GROUP}": {"0-1": {**LINK, "Op Name": "hcom_allReduce__586_3_1"}},
            f"allreduce-total@{GROUP}": {"0-1": LINK},
        },
    }
}
INFO: dict[str, Any] = {
    "config": {
        "common_config": {"activities": ["ProfilerActivity.NPU"], "record_shapes": True},
        "experimental_config": {"_profiler_level": "Level1", "_export_type": ["text"]},
    },
    "rank_id": 0,
}


def write_rank(root: Path, files: dict[str, Any], name: str = "host_77_20250109123456789_ascend_pt") -> Path:
    """A rank directory whose output folder holds ``files``; JSON values are written as JSON, texts as they are."""
    directory = root / name
    output = directory / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    for path, content in ({"../profiler_info_0.json": INFO} | files).items():
        target = (output / path).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())
    return directory


def full_capture() -> dict[str, Any]:
    """The files of a small level 1 capture of rank 0."""
    return {
        "trace_view.json": capture_events(),
        "kernel_details.csv": KERNELS,
        "communication.json": CALLS,
        "communication_matrix.json": LINKS,
    }


class Tables:
    """What a reader wrote, as frames; a table that got no rows is an empty frame."""

    def __init__(self, source: Source, work: Path) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.notes = Notes()
        out = RankWriter(work, source.rank or 0)
        ascend_text.read(Reading(source, out, self.notes))
        self.frames = {
            table: pl.concat([pl.read_parquet(work / name) for name in files]) for table, files in out.close().items()
        }

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.frames.get(table, pl.DataFrame())

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Rows of some columns."""
        frame = self[table]
        return frame.select(columns).rows() if frame.height else []

    def slice(self, name: str) -> dict[str, Any]:
        """The only slice of a name."""
        [found] = self["slices"].filter(pl.col("name") == name).rows(named=True)
        return found

    def count(self, code: str, **params: Any) -> int:
        """How often a note was made."""
        return sum(
            note.count
            for note in self.notes.all()
            if note.code == code and all(note.params.get(key) == value for key, value in params.items())
        )


def claimed(directory: Path) -> list[Source] | None:
    """What the reader claims of a directory."""
    entries = sorted(directory.iterdir())
    return ascend_text.claim(
        directory, [entry.name for entry in entries if entry.is_dir()], [e.name for e in entries if e.is_file()]
    )


def read_directory(directory: Path, work: Path) -> Tables:
    """Claim a directory as one rank, and read it."""
    sources = claimed(directory)
    assert sources is not None
    [source] = sources
    return Tables(source, work)
