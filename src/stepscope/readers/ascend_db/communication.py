"""Communication: whole calls (``COMMUNICATION_OP``), and what their parts moved or waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.readers.ascend.device_tasks import (
    bytes_of_type,
    call_number,
    collective_kind,
    rank_number,
    transfer_kind,
    transport,
)
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.device import DeviceTasks, device_numbers
from stepscope.readers.ascend_db.groups import Groups
from stepscope.readers.ascend_db.joins import distinct
from stepscope.readers.ascend_db.strings import Coded, as_texts
from stepscope.readers.ascend_db.timeline import Part, connections, numbers
from stepscope.readers.slices.slice_table import KIND, SliceTable
from stepscope.readers.trace_json.event_columns import nullable

_CALL: Final = ["startNs", "endNs", "connectionId", "opId", "relay", "retry", "dataType", "count", "deviceId"]
# RDMA tasks that only signal: of ENUM_HCCL_RDMA_TYPE.
_SIGNALS: Final = ("RDMA_SEND_NOTIFY", "RDMA_PAYLOAD_PREPARE", "RDMA_PAYLOAD_CHECK", "RDMA_PAYLOAD_ACK")
_MOST_BYTES: Final = 1 << 62
_PAIRWISE: Final = ("send", "receive")

#: Columns of ``collectives`` that hold the vendor's own times.
VENDOR_TIMES: Final = ("transit_ns", "wait_ns", "sync_ns", "idle_ns")


@dataclass
class Calls:
    """``COMMUNICATION_OP`` row by row."""

    rows: pl.DataFrame
    name: Coded
    type: Coded
    group: Coded
    dtype: Coded
    algorithm: Coded
    bytes: Int64s

    @property
    def connection(self) -> Int64s:
        return connections(self.rows["connectionId"])


def add_calls(reading: DatabaseReading, groups: Groups) -> Calls:
    """Put the whole calls onto the row of their group."""
    rows = reading.database.frame("COMMUNICATION_OP", _CALL, ids=["opName", "groupName", "algType", "opType"])
    name, kind = reading.strings.coded(rows["opName"]), reading.strings.coded(rows["opType"])
    group = groups.ids(reading.strings.coded(rows["groupName"]))
    dtype = reading.strings.enum("ENUM_HCCL_DATA_TYPE", rows["dataType"])
    sizes = np.array([*[bytes_of_type(word) or NULL for word in dtype[1]], NULL], np.int64)[dtype[0]]
    count = numbers(rows["count"])
    known = (sizes != NULL) & (count >= 0) & (count < _MOST_BYTES // 16)
    moved = np.where(known, count * np.where(known, sizes, 1), NULL)
    calls = Calls(rows, name, kind, group, dtype, reading.strings.coded(rows["algType"]), moved)
    reading.timeline.add(
        Part(
            "COMMUNICATION_OP",
            groups.tracks(group, np.full(rows.height, -1, np.int64), device_numbers(rows)),
            numbers(rows["startNs"]),
            numbers(rows["endNs"]),
            reading.strings.names(rows["opName"], reading.timeline.names),
            np.full(rows.height, KIND["collective"], np.int8),
            {"correlation": calls.connection, "bytes": moved},
            {"type": kind, "group": group, "core": (np.zeros(rows.height, np.int64), [groups.core])},
        )
    )
    return calls


def collectives(
    calls: Calls, parts: pl.DataFrame, slices: SliceTable, position: Int64s, step: Int64s, vendor: pl.DataFrame
) -> pl.DataFrame:
    """Rows of ``collectives``. ``parts`` as :func:`transfers` gives them; ``vendor`` has the vendor's times by name."""
    placed = np.flatnonzero(position != NONE)
    at = position[placed]
    keys, key_of_call = distinct(calls.name[0][placed], calls.type[0][placed])
    names = [_word(calls.name, name) or "" for name, _ in keys]
    kinds = [collective_kind(_word(calls.type, kind) or name) for (_, kind), name in zip(keys, names, strict=True)]
    numbered = [call_number(name) for name in names]
    rows = pl.DataFrame(
        {
            "op": numbers(calls.rows["opId"])[placed],
            "slice": slices.id[at],
            "group": _taken(calls.group, placed),
            "seq": pl.Series([numbered[call] for call in key_of_call.tolist()], dtype=pl.Int64),
            "kind": pl.Series([kinds[call] for call in key_of_call.tolist()], dtype=pl.String),
            "name": _taken(calls.name, placed),
            "step": nullable(step[at]),
            "start_ns": slices.start[at],
            "end_ns": slices.end[at],
            "bytes": nullable(calls.bytes[placed]),
            "dtype": _taken(calls.dtype, placed),
            "algorithm": _taken(calls.algorithm, placed),
        }
    )
    ends = pl.col("peer").filter(pl.col("kind") != "wait")
    own = parts.group_by("op").agg(
        pl.col("stream").drop_nulls().first(), peer=pl.when(ends.n_unique() == 1).then(ends.first())
    )
    rows = rows.join(own, on="op", how="left", maintain_order="left").drop("op")
    rows = rows.with_columns(peer=pl.when(pl.col("kind").is_in(_PAIRWISE)).then("peer"))
    # A name may come again in another step; the calls of one name are in the same order in both tables.
    again = pl.int_range(pl.len()).over("name", "group").alias("again")
    times = vendor.sort("start_ns", maintain_order=True).select("name", "group", *VENDOR_TIMES, again)
    ordered = rows.sort("start_ns", maintain_order=True).with_columns(again)
    return ordered.join(times, on=["name", "group", "again"], how="left", maintain_order="left").drop("again")


def transfers(
    reading: DatabaseReading, device: DeviceTasks, groups: Groups, slices: SliceTable, step: Int64s
) -> pl.DataFrame:
    """Rows of ``transfers``: the small tasks that move data or wait, each with the other end; and the part's call."""
    small, strings, position = device.small, reading.strings, reading.timeline.position["TASK"]
    task_type = small.spread_coded(strings.coded(small.rows["taskType"]))
    link = small.spread_coded(strings.enum("ENUM_HCCL_LINK_TYPE", small.rows["linkType"]))
    way = small.spread_coded(strings.enum("ENUM_HCCL_TRANSPORT_TYPE", small.rows["transportType"]))
    remote = small.spread_coded(strings.enum("ENUM_HCCL_RDMA_TYPE", small.rows["rdmaType"]))
    keys, key_of_task = distinct(task_type[0], link[0], way[0], remote[0])
    kinds: list[str | None] = []
    transports: list[str | None] = []
    for kind, line, path, rdma in keys:
        kind_of_transfer = transfer_kind(_word(task_type, kind) or "")
        kinds.append(None if kind_of_transfer == "payload" and _word(remote, rdma) in _SIGNALS else kind_of_transfer)
        transports.append(transport(_word(link, line), _word(way, path)))
    moves = np.array([kind is not None for kind in kinds], np.bool_)
    chosen = np.flatnonzero(moves[key_of_task] & (position != NONE)) if len(moves) else np.empty(0, np.int64)
    at = position[chosen]
    group = small.spread_coded(groups.ids(strings.coded(small.rows["groupName"])))
    plane = small.spread(numbers(small.rows["planeId"]))[chosen]
    size = small.spread(numbers(small.rows["size"]))[chosen]
    kind_of = pl.Series(kinds, dtype=pl.String).gather(key_of_task[chosen]) if kinds else pl.Series([], dtype=pl.String)
    own_place, peer_in_group = (small.spread(_ranks(small.rows[end]))[chosen] for end in ("srcRank", "dstRank"))
    peer = groups.global_ranks((group[0][chosen], group[1]), peer_in_group, own_place, reading.out.rank)
    return pl.DataFrame(
        {
            "peer": nullable(peer).cast(pl.Int32),
            "kind": kind_of,
            "plane": nullable(np.where((plane >= 0) & (plane < 1 << 31), plane, NULL)).cast(pl.Int32),
            "transport": pl.Series(transports, dtype=pl.String).gather(key_of_task[chosen]) if kinds else kind_of,
            "group": _taken(group, chosen),
            "call": _taken(small.spread_coded(strings.coded(small.rows["name"])), chosen),
            "step": nullable(step[at]),
            "bytes": nullable(np.where(size >= 0, size, NULL)),
            "time_ns": slices.dur[at],
            "packets": np.ones(len(chosen), np.int64),
            "op": small.spread(numbers(small.rows["opId"]))[chosen],
            "stream": nullable(numbers(device.tasks["streamId"])[chosen]),
            "unmapped": (peer_in_group != NULL) & (peer == NULL),
        }
    )


def _ranks(column: pl.Series) -> Int64s:
    ranks_in_file = numbers(column)
    known, rank_index = np.unique(ranks_in_file, return_inverse=True)
    ranks = [rank if (rank := rank_number(number)) is not None else NULL for number in known.tolist()]
    return np.array(ranks, np.int64)[rank_index] if ranks else ranks_in_file


def _word(column: Coded, code: int) -> str | None:
    return column[1][code] if code >= 0 else None


def _taken(coded: Coded, rows: Int64s) -> pl.Series:
    return as_texts((coded[0][rows], coded[1]))
