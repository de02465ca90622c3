"""Small profiler databases made with sqlite3, table by table, and the way to read one into frames."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.readers import ascend_db
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.store import schema
from stepscope.store.notes import Note, Notes
from stepscope.store.rank_writer import RankWriter

NS = 1_736_410_576_000_000_000  # a moment in January 2025
US = 1_000
NONE = 4294967295
PID = 4000
GROUP_NAME = "90.91.105.46%enp189s0f0_60000_0_1736410538306028"
GROUP = "17148521525495523210"  # as analysis.db of the real capture with this name has it

#: Tables as the profiler creates them.
TABLES = {
    "STRING_IDS": "id INTEGER PRIMARY KEY, value TEXT",
    "META_DATA": "name TEXT, value TEXT",
    "SESSION_TIME_INFO": "startTimeNs INTEGER, endTimeNs INTEGER",
    "HOST_INFO": "hostUid TEXT, hostName TEXT",
    "NPU_INFO": "id INTEGER, name TEXT",
    "RANK_DEVICE_MAP": "rankId INTEGER, deviceId INTEGER",
    "STEP_TIME": "id INTEGER, startNs INTEGER, endNs INTEGER",
    "ENUM_API_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "ENUM_HCCL_DATA_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "ENUM_HCCL_LINK_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "ENUM_HCCL_TRANSPORT_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "ENUM_HCCL_RDMA_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "ENUM_MEMCPY_OPERATION": "id INTEGER PRIMARY KEY, name TEXT",
    "ENUM_MODULE": "id INTEGER PRIMARY KEY, name TEXT",
    "TASK": "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,"
    " globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER",
    "COMPUTE_TASK_INFO": "name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER,"
    " taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,"
    " outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER",
    "COMMUNICATION_TASK_INFO": "name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER,"
    " groupName INTEGER, notifyId INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER,"
    " transportType INTEGER, size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER",
    "COMMUNICATION_SCHEDULE_TASK_INFO": "name INTEGER, globalTaskId INTEGER, taskType INTEGER, opType INTEGER",
    "COMMUNICATION_OP": "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,"
    " opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC,"
    " opType INTEGER",
    "MEMCPY_INFO": "globalTaskId INTEGER, size INTEGER, memcpyOperation INTEGER",
    "TASK_PMU_INFO": "globalTaskId INTEGER, name INTEGER, value NUMERIC",
    "CANN_API": "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER",
    "PYTORCH_API": "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,"
    " sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER,"
    " type INTEGER",
    "CONNECTION_IDS": "id INTEGER, connectionId INTEGER",
    "PYTORCH_CALLCHAINS": "id INTEGER, stack INTEGER, stackDepth INTEGER",
    "MSTX_EVENTS": "startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,"
    " message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER",
    "GC_RECORD": "startNs INTEGER, endNs INTEGER, globalTid INTEGER",
    "OSRT_API": "name INTEGER, globalTid INTEGER, startNs INTEGER, endNs INTEGER",
    "MEMORY_RECORD": "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER,"
    " totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "OP_MEMORY": "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER,"
    " activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "NPU_OP_MEM": "operatorName INTEGER, addr INTEGER, type INTEGER, size INTEGER, timestampNs INTEGER,"
    " globalTid INTEGER, totalAllocate NUMERIC, totalReserve NUMERIC, component INTEGER, deviceId INTEGER",
    "NPU_MEM": "type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER, deviceId INTEGER",
    "NPU_MODULE_MEM": "moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC, deviceId INTEGER",
    "HBM": "deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER",
    "LLC": "deviceId INTEGER, llcId INTEGER, timestampNs INTEGER, hitRate REAL, throughput INTEGER, mode INTEGER",
    "AICORE_FREQ": "deviceId INTEGER, timestampNs NUMERIC, freq INTEGER",
    "ACC_PMU": "accId INTEGER, readBwLevel INTEGER, writeBwLevel INTEGER, readOstLevel INTEGER,"
    " writeOstLevel INTEGER, timestampNs NUMERIC, deviceId INTEGER",
    "PCIE": "deviceId INTEGER, timestampNs INTEGER, txPostMin NUMERIC, txPostMax NUMERIC",
    "CPU_USAGE": "timestampNs INTEGER, cpuId TEXT, usage NUMERIC",
    "SAMPLE_PMU_SUMMARY": "deviceId INTEGER, metric INTEGER, value NUMERIC, coreId INTEGER, coreType INTEGER",
    "StepTraceTime": "step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC,"
    " communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC,"
    " communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC",
    "CommAnalyzerTime": "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC,"
    " transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT",
    "CommAnalyzerBandwidth": "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC,"
    " transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC,"
    " total_duration NUMERIC, step TEXT, type TEXT",
    "CommAnalyzerMatrix": "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT,"
    " transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT",
}

_ENUMS: dict[str, list[tuple[int, str]]] = {
    "ENUM_API_TYPE": [(5500, "hccl"), (10000, "node"), (20000, "acl"), (50001, "op"), (50002, "queue")],
    "ENUM_HCCL_DATA_TYPE": [(0, "INT8"), (3, "FP16"), (4, "FP32"), (65535, "INVALID_TYPE")],
    "ENUM_HCCL_LINK_TYPE": [(0, "ON_CHIP"), (1, "HCCS"), (5, "HCCS_SW"), (65535, "INVALID_TYPE")],
    "ENUM_HCCL_TRANSPORT_TYPE": [(0, "SDMA"), (1, "RDMA"), (2, "LOCAL")],
    "ENUM_HCCL_RDMA_TYPE": [(0, "RDMA_SEND_NOTIFY"), (1, "RDMA_SEND_PAYLOAD"), (65535, "INVALID_TYPE")],
    "ENUM_MEMCPY_OPERATION": [(1, "host to device"), (3, "device to device")],
    "ENUM_MODULE": [(3, "HCCL"), (33, "APP")],
}


class Texts(dict[str, int]):
    """Ids of texts, given out as they are asked for."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self) + 100
        return number


def thread(number: int, process: int = PID) -> int:
    """A globalTid."""
    return process << 32 | number


class Builder:
    """Rows by table; ``write`` makes the file."""

    def __init__(self) -> None:
        self.text = Texts()
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.definitions = dict(TABLES)
        self.extra: list[str] = []  # further statements
        for table, pairs in _ENUMS.items():
            for number, name in pairs:
                self.add(table, id=number, name=name)

    def add(self, table: str, **columns: Any) -> None:
        self.rows.setdefault(table, []).append(columns)

    def python(self, start: int, end: int, name: str, kind: int = 50001, tid: int = 1, **more: Any) -> None:
        self.add(
            "PYTORCH_API",
            startNs=str(NS + start),
            endNs=str(NS + end),
            name=self.text[name],
            type=kind,
            globalTid=thread(tid),
            **more,
        )

    def cann(self, start: int, end: int, name: str, connection: int, kind: int = 10000, tid: int = 1) -> None:
        self.add(
            "CANN_API",
            startNs=NS + start,
            endNs=NS + end,
            type=kind,
            globalTid=thread(tid),
            connectionId=connection,
            name=self.text[name],
        )

    def task(self, number: int, start: int, end: int, kind: str, connection: int = NONE, **more: Any) -> None:
        columns = {"deviceId": 0, "contextId": NONE, "streamId": 2, "taskId": number, "modelId": NONE, "globalPid": PID}
        self.add(
            "TASK",
            **columns
            | {
                "startNs": NS + start,
                "endNs": NS + end,
                "globalTaskId": number,
                "connectionId": connection,
                "taskType": self.text[kind],
            }
            | more,
        )

    def kernel(self, number: int, name: str, core: str, kind: str, **texts: str) -> None:
        """What COMPUTE_TASK_INFO says of a task."""
        columns = {key: self.text[value] for key, value in texts.items()}
        self.add(
            "COMPUTE_TASK_INFO",
            name=self.text[name],
            globalTaskId=number,
            blockDim=8,
            mixBlockDim=0,
            taskType=self.text[core],
            opType=self.text[kind],
            **columns,
        )

    def part(self, number: int, call: str, kind: str, plane: int, peer: int, size: int = 0, **more: Any) -> None:
        """What COMMUNICATION_TASK_INFO says of a task."""
        columns = {"notifyId": 9223372036854775807, "rdmaType": 65535, "srcRank": 0, "transportType": 0}
        columns |= {"dataType": 65535, "linkType": 1, "opId": 1}
        self.add(
            "COMMUNICATION_TASK_INFO",
            **columns
            | {
                "name": self.text[call],
                "globalTaskId": number,
                "taskType": self.text[kind],
                "planeId": plane,
                "groupName": self.text[GROUP_NAME],
                "dstRank": peer,
                "size": size,
            }
            | more,
        )

    def write(self, path: Path, only: Iterable[str] | None = None) -> Path:
        """The database; tables without rows are there too, unless ``only`` says which are."""
        path.parent.mkdir(parents=True, exist_ok=True)
        for text, number in self.text.items():
            self.add("STRING_IDS", id=number, value=text)
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            wanted = set(only) if only is not None else set(self.definitions)
            for table, columns in self.definitions.items():
                if table in wanted:
                    connection.execute(f'CREATE TABLE "{table}" ({columns})')
            for table, rows in self.rows.items():
                if table in wanted:
                    for row in rows:
                        names = ", ".join(f'"{name}"' for name in row)
                        marks = ", ".join("?" * len(row))
                        connection.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', list(row.values()))
            for statement in self.extra:
                connection.execute(statement)
        connection.close()
        self.rows.pop("STRING_IDS", None)
        return path


def small_run() -> Builder:
    """One step of one rank: an operator that enqueues a kernel and one that calls all-reduce.

    Times in nanoseconds after NS. Host: step 0 to 9000, operators at 100 and 2000, the first dequeued on thread 2 at
    500. Device: kernel 10 at 3000 to 4000 inside its wrapper 11, copy 12 at 4000 to 4500, call 5000 to 8000 with a
    wait for rank 1 (5000 to 6000), a payload to it (6000 to 7000) and a signal (7000 to 7010).
    """
    build = Builder()
    build.python(0, 9000, "ProfilerStep#7")
    build.python(100, 400, "aten::mul", connectionId=20, sequenceNumber=5, fwdThreadId=0, callchainId=1)
    build.python(150, 200, "Enqueue", 50002, connectionId=21)
    build.python(500, 900, "Dequeue@aten::mul", 50002, tid=2, connectionId=22)
    build.python(2000, 2400, "HcclAllreduce", connectionId=23)
    build.python(1500, 1600, "nn.Module: Linear_0", 50003)
    build.python(6000, 6100, "MulBackward0", tid=3, connectionId=24)
    for number, connection in ((20, 1), (21, 9001), (22, 9001), (23, 2), (20, 9002), (24, 9002)):
        build.add("CONNECTION_IDS", id=number, connectionId=connection)
    for depth, frame in enumerate(("inner.py(3): f", "outer.py(9): main")):
        build.add("PYTORCH_CALLCHAINS", id=1, stack=build.text[frame], stackDepth=depth)
    build.cann(550, 600, "launch", 1, tid=2)
    build.cann(2500, 2600, "launch", 2, tid=2)
    build.cann(620, 640, "aclrtMemcpyAsync", 3, kind=20000, tid=2)
    build.task(11, 2990, 4010, "AI_CORE", 1, taskId=10)
    build.task(10, 3000, 4000, "KERNEL_AICORE", 1, contextId=0)
    build.kernel(
        10,
        "Mul1",
        "MIX_AIV",
        "Mul",
        inputShapes='"2,3;2,3"',
        outputShapes='"2,3"',
        inputDataTypes="FLOAT;FLOAT",
        inputFormats="ND;ND",
        outputFormats="ND",
    )
    build.task(12, 4000, 4500, "MEMCPY_ASYNC", 3)
    build.add("MEMCPY_INFO", globalTaskId=12, size=4096, memcpyOperation=1)
    call = "hcom_allReduce__210_0_1"
    build.task(13, 5000, 6000, "Notify Wait", 2, streamId=4)
    build.part(13, call, "Notify_Wait", 1, 1, linkType=65535, transportType=2)
    build.task(14, 6000, 7000, "SDMA", 2, streamId=4)
    build.part(14, call, "Memcpy", 1, 1, 2048, dataType=4)
    build.task(15, 7000, 7010, "Write Value", 2, streamId=4)
    build.part(15, call, "Notify_Record", 1, 1, linkType=65535)
    build.add(
        "COMMUNICATION_OP",
        opName=build.text[call],
        startNs=NS + 5000,
        endNs=NS + 8000,
        connectionId=2,
        groupName=build.text[GROUP_NAME],
        opId=1,
        relay=0,
        retry=0,
        dataType=4,
        algType=build.text["MESH-RING"],
        count=1000,
        opType=build.text["hcom_allReduce_"],
    )
    build.add("TASK_PMU_INFO", globalTaskId=10, name=build.text["aic_total_time"], value=1500)
    build.add("TASK_PMU_INFO", globalTaskId=10, name=build.text["aic_mac_ratio"], value=0.25)
    build.add("STEP_TIME", id=7, startNs=NS, endNs=NS + 9000)
    build.add("RANK_DEVICE_MAP", rankId=3, deviceId=0)
    build.add("NPU_INFO", id=0, name="Ascend910B")
    build.add("HOST_INFO", hostUid="17", hostName="node-a")
    return build


def rank_directory(root: Path, build: Builder, rank: int = 0, info: dict[str, Any] | None = None) -> Path:
    """A rank's directory as torch_npu lays it out."""
    directory = root / f"host_{PID + rank}_20250109123456789_ascend_pt"
    build.write(directory / "ASCEND_PROFILER_OUTPUT" / f"ascend_pytorch_profiler_{rank}.db")
    stated = {"config": {"experimental_config": {"_profiler_level": "Level1"}}, "rank_id": rank}
    (directory / f"profiler_info_{rank}.json").write_text(json.dumps(stated | (info or {})))
    return directory


def claimed(directory: Path, reader: Any = ascend_db) -> list[Source]:
    """What a reader claims of a directory."""
    entries = sorted(directory.iterdir())
    folders, files = ([entry.name for entry in entries if entry.is_dir() == kind] for kind in (True, False))
    return reader.claim(directory, folders, files) or []


class Read:
    """The tables and notes of one source."""

    def __init__(self, source: Source, target: Path, reader: Any = ascend_db) -> None:
        target.mkdir(parents=True, exist_ok=True)
        self.source = source
        writer, notes = RankWriter(target, source.rank or 0), Notes()
        reader.read(Reading(source, writer, notes))
        self._tables = {
            table: pl.concat([pl.read_parquet(target / name) for name in files])
            for table, files in writer.close().items()
        }
        self.notes: list[Note] = notes.all()

    def table(self, name: str) -> pl.DataFrame:
        return self._tables.get(name, schema.empty(name))

    def slices(self, **equal: Any) -> pl.DataFrame:
        found = self.table("slices")
        for column, value in equal.items():
            found = found.filter(pl.col(column).cast(pl.String) == str(value))
        return found

    def note(self, code: str, **params: Any) -> int:
        """How often a note was counted."""
        return sum(
            note.count
            for note in self.notes
            if note.code == code and all(note.params.get(key) == value for key, value in params.items())
        )

    def links(self, kind: str) -> set[tuple[str, str]]:
        """Pairs of names."""
        names = dict(self.table("slices").select("slice", pl.col("name").cast(pl.String)).iter_rows())
        rows = self.table("links").filter(pl.col("kind").cast(pl.String) == kind)
        return {(names[begin], names[end]) for begin, end in rows.select("from_slice", "to_slice").iter_rows()}


def read_directory(directory: Path, target: Path) -> Read:
    """The only source of a directory, read."""
    [source] = claimed(directory)
    return Read(source, target)
