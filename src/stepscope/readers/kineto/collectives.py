"""Communication calls of Kineto traces: NCCL-like kernels on the device, gloo and MPI calls on the host."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, Int64s
from stepscope.facts.communication import communication_facts
from stepscope.readers.kineto.host_transfers import peers_of_host_transfers
from stepscope.readers.kineto.identity import group_rows, integer, rank_list
from stepscope.readers.slices.collective_names import collective_kind
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.event_columns import nullable

_SAY_LITTLE: Final = ("send_receive", "other")


@dataclass
class Described:
    """What a slice says of itself, as recorded."""

    name: str | None
    input_shapes: str | None
    dtypes: str | None


@dataclass
class Calls:
    """What is known about communication calls besides their slices."""

    arguments: dict[int, dict[str, Any]]  # of calls that describe themselves, by slice id
    host_transfers: dict[int, dict[str, Any]]  # of operators that send or receive on the host, by slice id
    own: list[Described]  # of each call
    enqueued: list[Described]  # of the annotation around the launch of each call: "nccl:all_to_all"
    groups: pl.DataFrame  # those that the job states


def collectives(slices: SliceTable, calls: Calls, operator: Int64s, step: Int64s, stream: Int64s) -> pl.DataFrame:
    """Rows of ``collectives``."""
    names = slices.names.texts()
    only_group = calls.groups.row(0, named=True) if calls.groups.height == 1 else {}
    members = _members_of_any(calls.groups)
    rows = []
    positions = np.flatnonzero(slices.is_kind("collective"))
    host_peers = peers_of_host_transfers(slices, positions, calls.host_transfers, calls.groups)
    for row, position in enumerate(positions.tolist()):
        own = calls.arguments.get(int(slices.id[position]), {})
        if not own and operator[position] != NONE:
            own = calls.arguments.get(int(slices.id[operator[position]]), {})
        name = names[slices.name[position]] or ""
        kind = collective_kind(str(own.get("Collective name") or name))
        enqueued = calls.enqueued[row]
        if kind in _SAY_LITTLE and enqueued.name:
            kind = collective_kind(enqueued.name)
        size, dtype = message_bytes(kind, own), own.get("dtype")
        if size is None:
            size, recorded = _recorded_bytes(kind, enqueued if enqueued.name else calls.own[row], members)
            dtype = dtype if dtype is not None else recorded
        rows.append(
            {
                "slice": int(slices.id[position]),
                "group": str(own.get("Process Group Name", only_group.get("group") or "")) or None,
                "seq": integer(own.get("Seq")),
                "kind": kind,
                "name": name,
                "start_ns": int(slices.start[position]),
                "end_ns": int(slices.end[position]),
                "bytes": size,
                "dtype": None if dtype is None else str(dtype)[:40],
                "peer": _peer(kind, own) if own else host_peers.get(row),
            }
        )
    if not rows:
        return pl.DataFrame()
    schema = {"group": pl.String, "seq": pl.Int64, "bytes": pl.Int64, "dtype": pl.String, "peer": pl.Int32}
    return pl.DataFrame(rows, schema_overrides=schema).with_columns(
        step=nullable(step[positions]), stream=nullable(stream[positions])
    )


def _members_of_any(groups: pl.DataFrame) -> int:
    """How many ranks meet in a call that does not name its group: known where all groups have the same members."""
    members = {tuple(sorted(ranks or ())) for ranks in groups["ranks"].to_list()} if groups.height else set()
    return len(members.pop()) if len(members) == 1 else 0


def groups_seen(arguments: dict[int, dict[str, Any]]) -> pl.DataFrame:
    """Groups that the calls themselves describe."""
    by_name: dict[str, dict[str, Any]] = {}
    for own in arguments.values():
        name = own.get("Process Group Name")
        if name is not None and str(name) not in by_name:
            by_name[str(name)] = {
                "group": str(name),
                "name": str(own.get("Process Group Description") or ""),
                "ranks": rank_list(own.get("Process Group Ranks")),
                "origin": "calls",
            }
    return group_rows(list(by_name.values()))


def message_bytes(kind: str, arguments: dict[str, Any]) -> int | None:
    """Elements times their size; what a rank puts in, except for all_gather, where it is what comes out."""
    size = communication_facts().dtype_bytes.get(str(arguments.get("dtype")))
    elements = integer(arguments.get("Out msg nelems" if kind == "all_gather" else "In msg nelems"))
    return None if size is None or elements is None else integer(elements * int(size))


def _recorded_bytes(kind: str, call: Described, members: int) -> tuple[int | None, str | None]:
    """Size and type from the shapes that calls of the host carry: those of what the rank puts in."""
    try:
        dims, types = json.loads(call.input_shapes or ""), json.loads(call.dtypes or "")
        size = int(communication_facts().dtype_bytes[types[0]])
        elements = math.prod(dims[0])
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None, None
    if kind == "all_gather":
        return (integer(elements * size * members) if members else None), types[0]
    return integer(elements * size), types[0]


def _peer(kind: str, arguments: dict[str, Any]) -> int | None:
    peer = integer(arguments.get({"send": "Dst Rank", "receive": "Src Rank"}.get(kind, "")))
    return peer if peer is not None and 0 <= peer < 1 << 31 else None
