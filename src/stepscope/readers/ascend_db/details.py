"""Rows of ``details``: the columns of a row that no other table takes, as JSON, by their names in the database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import polars as pl

from stepscope.arrays import NONE, Int64s
from stepscope.readers.ascend_db.communication import Calls
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.device import DeviceTasks
from stepscope.readers.ascend_db.host import HostCalls
from stepscope.readers.ascend_db.strings import Coded, as_texts
from stepscope.store.rank_writer import RankWriter

_ROWS_AT_ONCE: Final = 1 << 18
_TASK: Final = ("deviceId", "globalTaskId", "contextId", "taskId", "modelId")
_SMALL: Final = ("notifyId", "srcRank", "dstRank", "opId", "isMaster")
_SMALL_ENUMS: Final = {
    "transportType": "ENUM_HCCL_TRANSPORT_TYPE",
    "linkType": "ENUM_HCCL_LINK_TYPE",
    "dataType": "ENUM_HCCL_DATA_TYPE",
    "rdmaType": "ENUM_HCCL_RDMA_TYPE",
}
_COMPUTE: Final = ("outputDataTypes", "attrInfo", "opState", "hf32Eligible")
_CALL: Final = ("opId", "relay", "retry", "count")
_MARKER: Final = ("eventType", "rangeId", "category", "endGlobalTid")


def write_all_details(
    host: HostCalls,
    device: DeviceTasks,
    calls: Calls,
    reading: DatabaseReading,
    slice_ids: Int64s,
) -> None:
    """Details of every table of the timeline."""

    strings = reading.strings

    def write(table: str, numbers: pl.DataFrame, texts: Mapping[str, Coded]) -> None:
        _write(reading.out, slice_ids, reading.timeline.position[table], numbers, texts)

    write("PYTORCH_API", host.python.select("sequenceNumber", "fwdThreadId"), {})
    write("MSTX_EVENTS", host.markers.select(_MARKER), {"domainId": strings.coded(host.markers["domainId"])})
    small, compute = device.small, device.compute
    numbers = device.tasks.select(_TASK).with_columns(
        _spread(small.rows[name], small.row_of, name) for name in (*_SMALL, "bandwidth")
    )
    texts = {"taskType": device.task_type}
    texts |= {name: small.spread_coded(strings.enum(enum, small.rows[name])) for name, enum in _SMALL_ENUMS.items()}
    texts |= {name: compute.spread_coded(strings.coded(compute.rows[name])) for name in _COMPUTE}
    write("TASK", numbers, texts)
    write("COMMUNICATION_OP", calls.rows.select(_CALL), {})


def _spread(column: pl.Series, rows: Int64s, name: str) -> pl.Series:
    indices = pl.Series(rows)
    return column.gather(indices.set(indices == NONE, None)).alias(name)


def _write(
    out: RankWriter, slice_ids: Int64s, position: Int64s, numbers: pl.DataFrame, texts: Mapping[str, Coded]
) -> None:
    """One object per row that has a slice; nulls are left out."""
    quoted: dict[str, Coded] = {
        name: (codes, [None if word is None else json.dumps(word, ensure_ascii=False) for word in words])
        for name, (codes, words) in texts.items()
    }
    for first in range(0, numbers.height, _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        piece = numbers[part].with_columns(
            *(as_texts((codes[part], words)).alias(name) for name, (codes, words) in quoted.items()),
        )
        pairs = [pl.format(f'"{name}":{{}}', name) for name in piece.columns]
        objects = piece.select(
            position=pl.Series(position[part]),
            json=pl.format("{{{}}}", pl.concat_str(pairs, separator=",", ignore_nulls=True)),
        ).filter((pl.col("position") != NONE) & (pl.col("json") != "{}"))
        out.add("details", pl.DataFrame({"slice": slice_ids[objects["position"].to_numpy()], "json": objects["json"]}))
