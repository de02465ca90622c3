"""Tasks on the device: ``TASK``, with what the tables about computing, communicating and copying tasks add to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int8s, Int32s, Int64s
from stepscope.readers.ascend.device_tasks import plane_kind, task_kind, unknown_task_kind
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.groups import Groups
from stepscope.readers.ascend_db.joins import Joined, coalesced, distinct, first_match
from stepscope.readers.ascend_db.strings import Coded, Strings
from stepscope.readers.ascend_db.timeline import NO_VALUE, DatabaseTimeline, Layer, Part, connections, numbers
from stepscope.readers.slices.slice_table import KIND
from stepscope.store.notes import Notes

HARDWARE: Final = Layer("Ascend Hardware", "NPU", 13)

_TASK: Final = ["startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "contextId", "streamId", "taskId"]
_COMPUTE_TEXTS: Final = ["inputFormats", "inputDataTypes", "inputShapes"]
_COMPUTE_TEXTS_OUT: Final = ["outputFormats", "outputDataTypes", "outputShapes", "attrInfo", "opState", "hf32Eligible"]
_SMALL: Final = ["planeId", "notifyId", "rdmaType", "srcRank", "dstRank", "transportType", "size", "dataType"]
_SMALL_MORE: Final = ["linkType", "opId", "isMaster"]


@dataclass
class DeviceTasks:
    """``TASK`` row by row, and what other tables say of its rows."""

    tasks: pl.DataFrame
    compute: Joined  # COMPUTE_TASK_INFO
    small: Joined  # COMMUNICATION_TASK_INFO: parts of communication calls
    schedule: Joined  # COMMUNICATION_SCHEDULE_TASK_INFO: calls that an AI CPU expands
    copies: Joined  # MEMCPY_INFO
    task_type: Coded
    is_shell: Bools  # stands for work that another row stands for

    @property
    def connection(self) -> Int64s:
        return connections(self.tasks["connectionId"])


def read_tasks(reading: DatabaseReading) -> DeviceTasks:
    """Read and join the tables; rows that describe no task are noted."""
    tasks = reading.database.frame("TASK", [*_TASK, "modelId"], ids=["taskType"])
    known = numbers(tasks["globalTaskId"])

    def joined(table: str, integers: list[str], ids: list[str], reals: list[str]) -> Joined:
        rows = reading.database.frame(table, ["globalTaskId", *integers], reals, ids=ids)
        described = numbers(rows["globalTaskId"])
        repeated = len(described) - len(np.unique(described))
        lost = int((first_match(known, described) == NONE).sum())
        reading.note("db_rows_repeated", table=table, count=repeated)
        reading.note("db_rows_without_task", table=table, count=lost)
        return Joined(rows, first_match(described, known))

    compute = joined(
        "COMPUTE_TASK_INFO",
        ["blockDim|blockNum", "mixBlockDim|mixBlockNum"],
        ["name", "taskType", "opType", *_COMPUTE_TEXTS, *_COMPUTE_TEXTS_OUT],
        [],
    )
    small = joined("COMMUNICATION_TASK_INFO", _SMALL + _SMALL_MORE, ["name", "taskType", "groupName"], ["bandwidth"])
    schedule = joined("COMMUNICATION_SCHEDULE_TASK_INFO", [], ["name", "taskType", "opType"], [])
    copies = joined("MEMCPY_INFO", ["size", "memcpyOperation"], [], [])
    repeated = _repeated(tasks)
    is_shell = _shells(tasks, compute.is_described | small.is_described | schedule.is_described) & ~repeated
    reading.note("db_shell_tasks", count=int(is_shell.sum()))
    reading.note("db_tasks_repeated", count=int(repeated.sum()))
    is_shell |= repeated
    return DeviceTasks(tasks, compute, small, schedule, copies, reading.strings.coded(tasks["taskType"]), is_shell)


def add_tasks(device: DeviceTasks, reading: DatabaseReading, groups: Groups) -> None:
    """Put the tasks onto the timeline: on the plane of their group if they communicate, else on their stream."""
    tasks, compute, small, strings = device.tasks, device.compute, device.small, reading.strings
    operation = device.copies.spread_coded(strings.enum("ENUM_MEMCPY_OPERATION", device.copies.rows["memcpyOperation"]))
    small_type = small.spread_coded(strings.coded(small.rows["taskType"]))
    core = compute.spread_coded(strings.coded(compute.rows["taskType"]))
    kind = _kinds(device, core, small_type, reading.database.file, reading.notes)
    group = small.spread_coded(groups.ids(strings.coded(small.rows["groupName"])))
    is_kernel = kind == KIND["kernel"]
    bytes_moved = np.where(small.is_described, small.spread(numbers(small.rows["size"])), NULL)
    copied = device.copies.spread(numbers(device.copies.rows["size"]))
    texts = {
        "type": coalesced(
            compute.spread_coded(strings.coded(compute.rows["opType"])),
            device.schedule.spread_coded(strings.coded(device.schedule.rows["opType"])),
            small_type,
            operation,
        ),
        "core": _where(is_kernel, coalesced(core, device.task_type)),
        "input_shapes": compute.spread_coded(_unquoted(strings.coded(compute.rows["inputShapes"]))),
        "output_shapes": compute.spread_coded(_unquoted(strings.coded(compute.rows["outputShapes"]))),
        "dtypes": compute.spread_coded(strings.coded(compute.rows["inputDataTypes"])),
        "formats": compute.spread_coded(_formats(strings, compute.rows)),
        "group": group,
    }
    reading.timeline.add(
        Part(
            "TASK",
            _tracks(device, group, reading.timeline, groups),
            numbers(tasks["startNs"]),
            numbers(tasks["endNs"]),
            _names(device, strings, small_type, reading.timeline),
            kind,
            {
                "correlation": device.connection,
                "stream": numbers(tasks["streamId"]),
                "bytes": np.where(bytes_moved != NULL, bytes_moved, copied),
            },
            texts,
        )
    )


def device_numbers(tasks: pl.DataFrame) -> Int64s:
    """Device of each row, to tell tracks apart; -1 everywhere where there is only one device."""
    devices = tasks["deviceId"].fill_null(-1).to_numpy()
    return devices if len(np.unique(devices)) > 1 else np.full(len(devices), -1, np.int64)


def _repeated(tasks: pl.DataFrame) -> Bools:
    """Rows that say again what an earlier one said."""
    known = tasks["globalTaskId"].drop_nulls()
    if known.n_unique() == len(known):
        return np.zeros(tasks.height, np.bool_)
    same = pl.struct("globalTaskId", "startNs", "endNs", "deviceId", "streamId", "taskId", "contextId")
    first: Bools = tasks.select(pl.col("globalTaskId").is_null() | same.is_first_distinct()).to_series().to_numpy()
    return ~first


def _shells(tasks: pl.DataFrame, described: Bools) -> Bools:
    """Tasks that only wrap others: the scheduler's own entry of a task whose contexts are listed one by one.

    Both carry the same stream, task and connection, and the wrapper begins first.
    """
    keys = ["deviceId", "streamId", "taskId", "connectionId"]
    rows = tasks.select(
        pl.col(keys).fill_null(-1), "startNs", "endNs", whole=pl.col("contextId").fill_null(NO_VALUE) == NO_VALUE
    ).with_row_index("row")
    inner = rows.filter(~pl.col("whole")).select(*keys, inner="startNs").drop_nulls().sort("inner")
    outer = rows.filter(pl.col("whole") & ~pl.Series(described)).drop_nulls().sort("startNs")
    wraps = outer.join_asof(
        inner, left_on="startNs", right_on="inner", by=keys, strategy="forward", check_sortedness=False
    ).filter(pl.col("inner") < pl.col("endNs"))
    is_shell = np.zeros(tasks.height, np.bool_)
    is_shell[wraps["row"].to_numpy()] = True
    return is_shell


def _kinds(device: DeviceTasks, core: Coded, small_type: Coded, file: str, notes: Notes) -> Int8s:
    by_task = _by_word(device.task_type, lambda word: task_kind(word) or "")
    by_core = _by_word(core, lambda word: task_kind(word) or "")
    plain = np.where(by_task >= 0, by_task, KIND[unknown_task_kind(False)])
    unknown = (by_task < 0) & ~device.is_shell
    # What the table of computing tasks describes computes, unless its type says that it copies.
    computes = np.where(np.isin(by_task, [KIND["kernel"], KIND["copy"]]), by_task, KIND[unknown_task_kind(True)])
    kind = np.where(device.compute.is_described, np.where(by_core >= 0, by_core, computes), plain)
    kind[device.schedule.is_described] = KIND["comm_task"]
    on_plane = _by_word(small_type, plane_kind)
    small = device.small.is_described
    kind[small] = np.where(on_plane >= 0, on_plane, KIND["comm_task"])[small]
    kind[device.is_shell] = KIND["reported"]
    unknown &= ~small & ~device.schedule.is_described & ~(device.compute.is_described & (by_core >= 0))
    codes, words = device.task_type
    for code, count in zip(*np.unique(codes[unknown], return_counts=True), strict=True):
        notes.add("db_task_type_unknown", file=file, count=int(count), type=str(words[code] if code >= 0 else "?")[:80])
    return kind.astype(np.int8)


def _by_word(coded: Coded, meaning: Callable[[str], str]) -> Int64s:
    """Code of the slice kind that each row's word means, -1 where there is no word or it means none."""
    codes, words = coded
    kinds = [KIND.get(meaning(word), -1) if word else -1 for word in words]
    return np.array([*kinds, -1], np.int64)[codes]  # a negative code is the last


def _names(device: DeviceTasks, strings: Strings, small_type: Coded, timeline: DatabaseTimeline) -> Int32s:
    compute, schedule = device.compute, device.schedule
    codes, words = coalesced(
        compute.spread_coded(strings.coded(compute.rows["name"])),
        schedule.spread_coded(strings.coded(schedule.rows["name"])),
        small_type,
        device.task_type,
    )
    used, name_of_row = np.unique(codes, return_inverse=True)
    names = [timeline.name(words[code] if code >= 0 else None) for code in used.tolist()]
    return np.array(names, np.int32)[name_of_row] if names else np.empty(0, np.int32)


def _tracks(device: DeviceTasks, group: Coded, timeline: DatabaseTimeline, groups: Groups) -> Int32s:
    number = device_numbers(device.tasks)
    plane = device.small.spread(numbers(device.small.rows["planeId"]))
    on_plane = device.small.is_described & (plane >= 0) & (plane < NO_VALUE)
    stream = numbers(device.tasks["streamId"])
    tracks = np.zeros(len(stream), np.int32)
    tracks[on_plane] = groups.tracks((group[0][on_plane], group[1]), plane[on_plane], number[on_plane])
    keys, key_of_row = distinct(number[~on_plane], stream[~on_plane])
    plain_tracks = [
        timeline.track(
            "stream",
            HARDWARE,
            where if where != NULL else None,
            f"Stream {where}" if where != NULL else "Stream ?",
            unit if unit >= 0 else None,
        )
        for unit, where in keys
    ]
    if plain_tracks:
        tracks[~on_plane] = np.array(plain_tracks, np.int32)[key_of_row]
    return tracks


def _where(condition: Bools, coded: Coded) -> Coded:
    return np.where(condition, coded[0], -1), coded[1]


def _unquoted(coded: Coded) -> Coded:
    return coded[0], [None if text is None else text.strip('" ') for text in coded[1]]


def _formats(strings: Strings, compute: pl.DataFrame) -> Coded:
    """Input and output formats as one text."""
    (taken, ins), (given, outs) = (strings.coded(compute[f"{side}Formats"]) for side in ("input", "output"))
    keys, key_of_row = distinct(taken, given)
    texts: list[str | None] = [f"{ins[first] if first >= 0 else ''}->{outs[second]}" for first, second in keys]
    return np.where(given < 0, -1, key_of_row), texts
