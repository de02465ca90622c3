"""The unified database of a rank: the same data as the text files, in the documented tables.

Tables of the framework (operators, call chains, memory) are PyTorch's; MindSpore's database has none of them. Both get
``STEP_TIME``, by which vendor tools choose a step.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.work import COMMUNICATION, COPY
from stepscope.deliver.capture_directory.cells import shapes, types
from stepscope.deliver.capture_directory.communication_calls import communication_calls
from stepscope.deliver.capture_directory.database_host import host_rows
from stepscope.deliver.capture_directory.database_memory import allocation_rows, memory_rows
from stepscope.deliver.capture_directory.own_time import own_stretches
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.deliver.capture_directory.sqlite_tables import Rows, Texts, new_database, write_table

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
    "PYTORCH_CALLCHAINS": "id INTEGER, stack INTEGER, stackDepth INTEGER",
    "MSTX_EVENTS": "startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, "
    "message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER",
    "ENUM_MSTX_EVENT_TYPE": "id INTEGER PRIMARY KEY, name TEXT",
    "MEMORY_RECORD": "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, "
    "totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "OP_MEMORY": "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, "
    "activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER, "
    "allocationTotalReserved INTEGER, allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, "
    "releaseTotalReserved INTEGER, releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
}
_OF_PYTORCH: Final = ("PYTORCH_API", "CONNECTION_IDS", "PYTORCH_CALLCHAINS", "MEMORY_RECORD", "OP_MEMORY")
_API_TYPES: Final = {5000: "runtime", 5500: "communication", 10000: "node", 15000: "model", 20000: "acl"} | {
    50001: "op",
    50002: "queue",
    50003: "trace",
    50004: "mstx",
}
_EVENT_TYPES: Final = {0: "marker", 1: "push/pop", 2: "start/end", 3: "marker_ex"}
_NO_MODEL: Final = 4294967295


def write_database(data: RankData, path: Path) -> None:
    """The unified database."""
    texts = Texts()
    rows = _rows(data, texts)
    rows["STRING_IDS"] = [(number, text) for text, number in texts.numbers.items()]
    with new_database(path) as database:
        for table, columns in _TABLES.items():
            if data.backend != "mindspore" or table not in _OF_PYTORCH:
                write_table(database, table, columns, rows.get(table, []))


def _rows(data: RankData, texts: Texts) -> dict[str, Rows]:
    about = data.about
    steps = data.scan("steps").select("step", "host_start_ns", "host_end_ns").collect() if data.has_steps else None
    return {
        "META_DATA": _metadata(data),
        "SESSION_TIME_INFO": [(about.get("first_ns"), about.get("last_ns"))],
        "HOST_INFO": [(str(about.get("host") or ""), about.get("host"))],
        "NPU_INFO": [(data.device_id, about.get("device_name") or data.device)],
        "RANK_DEVICE_MAP": [(data.rank, data.device_id)],
        "STEP_TIME": list(steps.iter_rows()) if steps is not None else [],
        "ENUM_API_TYPE": list(_API_TYPES.items()),
        "ENUM_MSTX_EVENT_TYPE": list(_EVENT_TYPES.items()),
        "MEMORY_RECORD": memory_rows(data, texts),
        "OP_MEMORY": allocation_rows(data, texts),
        **_device_rows(data, texts),
        **host_rows(data, texts),
    }


def _metadata(data: RankData) -> Rows:
    """The schema, and the groups of the job with their members, from which vendor tools know who talks to whom."""
    version = [("SCHEMA_VERSION", "1.0.0"), ("SCHEMA_VERSION_MAJOR", "1"), ("SCHEMA_VERSION_MINOR", "0")]
    groups = data.store.scan("groups").select("group", "name", "ranks").collect()
    members = {
        str(group): {
            "group_name": name or str(group),
            "group_rank": list(ranks).index(data.rank) if data.rank in ranks else -1,
            "global_ranks": list(ranks),
        }
        for group, name, ranks in groups.iter_rows()
        if ranks
    }
    return [*version, ("parallel_group_info", json.dumps(members))] if members else list(version)


def _device_rows(data: RankData, texts: Texts) -> dict[str, Rows]:
    """Tasks, what computes in them, and communication."""
    launched, stretches = data.causes("launch"), own_stretches(data)
    further = data.scan("slices").select("slice", "stream", "correlation", "output_shapes")
    rows = data.executed.lazy().join(further, on="slice", how="left").sort("start_ns", "slice")
    shown = rows.filter(pl.col("lane") != COMMUNICATION).select(
        *("slice", "start_ns", "end_ns", "name", "type", "operator", "core", "stream", "lane", "correlation"),
        inputs=shapes("input_shapes"),
        kinds=types("dtypes"),
        outputs=shapes("output_shapes"),
    )
    tasks: Rows = []
    details: Rows = []
    nothing = texts(None)
    for row in shown.collect().iter_rows(named=True):
        number = row["slice"]
        core = "MEMCPY_ASYNC" if row["lane"] == COPY else row["core"] or "HOST_CPU"
        stream, task = row["stream"] or 0, row["correlation"] or number
        ids = (data.device_id, launched.get(number, number), number, 0, texts(core), _NO_MODEL, stream, task, _NO_MODEL)
        start, end = row["start_ns"], row["end_ns"]
        # All of its own time passes while others communicate: no length, so that it is still counted as a call.
        own = stretches.get(number, [(start, end)]) or [(start, start)]
        tasks += [(*times, *ids) for times in own]
        if row["lane"] != COPY:
            kind = texts(row["type"] or row["operator"] or row["name"])
            sizes = (nothing, texts(row["kinds"]), texts(row["inputs"]), nothing, nothing, texts(row["outputs"]))
            details.append((texts(row["name"]), number, 0, 0, texts(core), kind, *sizes, nothing, nothing, nothing))
    tasks += _step_borders(data, texts)
    return {"TASK": tasks, "COMPUTE_TASK_INFO": details, "COMMUNICATION_OP": _call_rows(data, texts, launched)}


def _step_borders(data: RankData, texts: Texts) -> Rows:
    """Where a host computes by itself a step is its window there: tasks without length mark its borders, so that vendor
    tools count the time before the first operator and behind the last, too."""
    if data.work.on_device or not data.has_steps:
        return []
    steps = data.scan("steps").select("host_start_ns", "host_end_ns").drop_nulls().collect()
    moments = sorted(moment for border in steps.iter_rows() for moment in border)
    kind = texts("STEP_BORDER")
    return [
        (moment, moment, data.device_id, None, -number, 0, kind, _NO_MODEL, 0, -number, _NO_MODEL)
        for number, moment in enumerate(moments, 1)
    ]


def _call_rows(data: RankData, texts: Texts, launched: dict[int, int]) -> Rows:
    groups = dict(data.scan("collectives").select("slice", pl.col("group").cast(pl.String)).collect().iter_rows())
    rows: Rows = []
    for call in communication_calls(data):
        names = (launched.get(call.slice, call.slice), texts(groups.get(call.slice) or "default"), call.slice)
        kind = texts(call.type)
        ends = (call.start_ns, call.start_ns + call.elapse_ns)
        rows.append((texts(call.name), *ends, *names, 0, 0, None, texts(None), None, kind, data.device_id))
    return rows + _blocking_calls(data, texts, {row[5] for row in rows})


def _blocking_calls(data: RankData, texts: Texts, written: set[int]) -> Rows:
    """Calls of the host into communication, in which it waits: they are no collectives, and count as communication."""
    work, wanted = data.work, set(data.executed["slice"]) - written
    rows: Rows = []
    for index in np.flatnonzero(work.of(COMMUNICATION)).tolist():
        number = int(work.slice[index])
        if number in wanted:
            name = texts(work.name[index])
            ends = (int(work.start[index]), int(work.end[index]))
            ids = (number, texts("default"), number)
            rows.append((name, *ends, *ids, 0, 0, None, texts(None), None, name, data.device_id))
    return rows
