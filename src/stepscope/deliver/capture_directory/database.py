"""The unified database of a rank and ``analysis.db``: the same data as the text files, in the documented tables."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.analysis.foundation.work import COMMUNICATION, COPY
from stepscope.deliver.capture_directory.cells import shapes, types
from stepscope.deliver.capture_directory.communication_files import communication
from stepscope.deliver.capture_directory.own_time import own_stretches
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.deliver.capture_directory.step_trace_time import step_trace_time

_TABLES: Final = {
    "STRING_IDS": "id INTEGER PRIMARY KEY, value TEXT",
    "META_DATA": "name TEXT, value TEXT",
    "SESSION_TIME_INFO": "startTimeNs INTEGER, endTimeNs INTEGER",
    "HOST_INFO": "hostUid TEXT, hostName TEXT",
    "NPU_INFO": "id INTEGER, name TEXT",
    "RANK_DEVICE_MAP": "rankId INTEGER, deviceId INTEGER",
    "STEP_TIME": "id INTEGER, startNs INTEGER, endNs INTEGER",
    "ENUM_API_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "TASK": "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, "
    "globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER",
    "COMPUTE_TASK_INFO": "name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockNum INTEGER, mixBlockNum INTEGER, "
    "taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, "
    "outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER, opState INTEGER, "
    "hf32Eligible INTEGER",
    "COMMUNICATION_OP": "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, "
    "opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, "
    "opType INTEGER, deviceId INTEGER",
    "CANN_API": "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY, "
    "name INTEGER",
    "PYTORCH_API": "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, "
    "sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, "
    "type INTEGER",
    "CONNECTION_IDS": "id INTEGER, connectionId INTEGER",
    "MEMORY_RECORD": "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, "
    "totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
}
_RUNTIME, _OPERATOR = 5000, 50001
_API_TYPES: Final = {_RUNTIME: "runtime", 5500: "communication", 10000: "node", 15000: "model", 20000: "acl"} | {
    _OPERATOR: "op",
    50002: "queue",
    50003: "trace",
    50004: "mstx",
}
_NO_MODEL: Final = 4294967295


class _Texts:
    """Numbers for texts, each once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: Any) -> int:
        return self.numbers.setdefault("N/A" if text is None else str(text), len(self.numbers))


def write_database(data: RankData, path: Path) -> None:
    """The unified database."""
    texts = _Texts()
    with _database(path) as database:
        for table, columns in _TABLES.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
        for table, rows in _rows(data, texts).items():
            _insert(database, table, rows)
        _insert(database, "STRING_IDS", ((number, text) for text, number in texts.numbers.items()))


def write_analysis_database(data: RankData, path: Path) -> None:
    """Step trace and communication, as the vendor's second database has them."""
    steps = step_trace_time(data)
    calls = communication(data) or {}
    with _database(path) as database:
        if steps is not None:
            names = "computing, communication_not_overlapped, overlapped, communication, free, stage, bubble, "
            names += "communication_not_overlapped_and_exclude_receive, preparing"
            database.execute(f"CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, {names})")
            _insert(database, "StepTraceTime", ((data.device_id, *row) for row in steps.iter_rows()))
        if calls:
            names = "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, "
            names += "transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, "
            database.execute(f"CREATE TABLE CommAnalyzerTime ({names} step TEXT, type TEXT)")
            _insert(database, "CommAnalyzerTime", _call_rows(calls))


def _call_rows(calls: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for step, classes in calls.items():
        for kind, entries in classes.items():
            for name, entry in entries.items():
                if name != "Total Op Info":
                    operation, _, group = name.partition("@")
                    times = list(entry["Communication Time Info"].values())[:6]
                    yield (operation, group, *times, step, kind)


@contextlib.contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    try:
        with database:
            yield database
    finally:
        database.close()


def _insert(database: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    rows = list(rows)
    if rows:
        places = ", ".join("?" * len(rows[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def _rows(data: RankData, texts: _Texts) -> dict[str, list[tuple[Any, ...]]]:
    about = data.about
    steps = data.scan("steps").select("step", "host_start_ns", "host_end_ns").collect() if data.has_steps else None
    tasks, details, calls = _device_rows(data, texts)
    operators, connections = _operator_rows(data, texts)
    return {
        "META_DATA": [("SCHEMA_VERSION", "1.0.0"), ("SCHEMA_VERSION_MAJOR", "1"), ("SCHEMA_VERSION_MINOR", "0")],
        "SESSION_TIME_INFO": [(about.get("first_ns"), about.get("last_ns"))],
        "HOST_INFO": [(str(about.get("host") or ""), about.get("host"))],
        "NPU_INFO": [(data.device_id, about.get("device_name") or data.device)],
        "RANK_DEVICE_MAP": [(data.rank, data.device_id)],
        "STEP_TIME": list(steps.iter_rows()) if steps is not None else [],
        "ENUM_API_TYPE": list(_API_TYPES.items()),
        "TASK": tasks,
        "COMPUTE_TASK_INFO": details,
        "COMMUNICATION_OP": calls,
        "CANN_API": _api_rows(data, texts),
        "PYTORCH_API": operators,
        "CONNECTION_IDS": connections,
        "MEMORY_RECORD": _memory_rows(data, texts),
    }


def _links(data: RankData, kind: str) -> dict[int, int]:
    """What caused each device slice, by its number."""
    rows = data.store.scan("links", [data.rank]).filter(pl.col("kind").cast(pl.String) == kind)
    return dict(rows.select("to_slice", "from_slice").collect().iter_rows())


def _device_rows(
    data: RankData, texts: _Texts
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    launched, stretches = _links(data, "launch"), own_stretches(data)
    further = data.scan("slices").select("slice", "stream", "group", "correlation", "output_shapes")
    rows = data.executed.lazy().join(further, on="slice", how="left").sort("start_ns", "slice")
    found = rows.select(
        *("slice", "start_ns", "end_ns", "name", "type", "operator", "core", "stream", "group"),
        "lane",
        "correlation",
        inputs=shapes("input_shapes"),
        kinds=types("dtypes"),
        outputs=shapes("output_shapes"),
    )
    tasks: list[tuple[Any, ...]] = []
    details: list[tuple[Any, ...]] = []
    calls: list[tuple[Any, ...]] = []
    for row in found.collect().iter_rows(named=True):
        number, start, end = row["slice"], row["start_ns"], row["end_ns"]
        connection = launched.get(number, number)
        core = "MEMCPY_ASYNC" if row["lane"] == COPY else row["core"] or "HOST_CPU"
        kind = row["type"] or row["operator"] or row["name"]
        if row["lane"] == COMMUNICATION:
            group, unknown = texts(row["group"] or "default"), texts(None)
            facts = (group, number, 0, 0, None, unknown, None, texts(kind), data.device_id)
            calls.append((texts(row["name"]), start, end, connection, *facts))
            continue
        stream, task = row["stream"] or 0, row["correlation"] or number
        place = (data.device_id, connection, number, 0, texts(core), _NO_MODEL, stream, task, _NO_MODEL)
        tasks += [(*stretch, *place) for stretch in stretches.get(number, [(start, end)])]
        if row["lane"] != COPY:
            nothing = texts(None)
            shown = (nothing, texts(row["kinds"]), texts(row["inputs"]), nothing, nothing, texts(row["outputs"]))
            details.append(
                (texts(row["name"]), number, 0, 0, texts(core), texts(kind), *shown, nothing, nothing, nothing)
            )
    return tasks, details, calls


def _api_rows(data: RankData, texts: _Texts) -> list[tuple[Any, ...]]:
    rows = (
        data.scan("slices").filter(pl.col("kind") == "runtime").select("slice", "start_ns", "dur_ns", "track", "name")
    )
    return [
        (start, start + duration, _RUNTIME, track, number, texts(name))
        for number, start, duration, track, name in rows.collect().iter_rows()
    ]


def _operator_rows(data: RankData, texts: _Texts) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Operators of the host, and which device tasks each launched."""
    owned: dict[int, list[int]] = {}
    launched = _links(data, "launch")
    for task, operator in _links(data, "operator_launch").items():
        owned.setdefault(operator, []).append(launched.get(task, task))
    columns = ("slice", "start_ns", "dur_ns", "track", "name")
    rows = data.scan("slices").filter(pl.col("kind") == "operator")
    rows = rows.select(*columns, kinds=types("dtypes"), inputs=shapes("input_shapes"))
    operators: list[tuple[Any, ...]] = []
    connections: list[tuple[Any, ...]] = []
    for number, start, duration, track, name, kinds, inputs in rows.collect().iter_rows():
        mine = owned.get(number, [])
        connections += [(number, task) for task in mine]
        place = (track, number if mine else None, texts(name), None, None)
        operators.append((str(start), str(start + duration), *place, texts(kinds), texts(inputs), None, _OPERATOR))
    return operators, connections


def _memory_rows(data: RankData, texts: _Texts) -> list[tuple[Any, ...]]:
    rows = data.store.scan("memory", [data.rank]).select("component", "time_ns", "allocated", "reserved", "active")
    return [(texts(row[0]), *row[1:], None, data.device_id) for row in rows.collect().iter_rows()]
