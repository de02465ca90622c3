"""Ascend captures in SQLite form: what torch_npu, MindSpore Profiler, msprof and msmonitor write as databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.errors import UnreadableInputError
from stepscope.readers.ascend.communication import calls_without_timeline, groups_seen, transfers_of_links
from stepscope.readers.ascend.rank_directory import DEVICE_INFO, METADATA_FILE, read_json
from stepscope.readers.ascend_db import communication, counters, described_slices, identity, links, memory, pmu
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.details import write_all_details
from stepscope.readers.ascend_db.device import DeviceTasks, add_tasks, read_tasks
from stepscope.readers.ascend_db.discovery import (
    claim,
    claim_file,
    framework_in_name,
    is_identity_name,
    is_summary_name,
    unread_neighbours,
)
from stepscope.readers.ascend_db.groups import Groups
from stepscope.readers.ascend_db.host import HostCalls, add_host_calls
from stepscope.readers.ascend_db.stacks import inherited, read_stacks
from stepscope.readers.ascend_db.strings import Strings
from stepscope.readers.ascend_db.summaries import Summary, empty_summary, read_summary
from stepscope.readers.ascend_db.tables import is_by_msprof, note_foreign, note_missing, require_data
from stepscope.readers.ascend_db.timeline import DatabaseTimeline
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.sqlite.opening import LOG_ENDING, open_database
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

__all__ = ["claim", "claim_file", "read"]


def read(reading: Reading) -> None:
    """Read the databases of one rank into the tables of ``out``."""
    plain = [path for path in reading.source.files if not path.name.endswith(LOG_ENDING)]
    databases = [path for path in plain if not is_summary_name(path.name) and not is_identity_name(path.name)]
    info: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    chip: dict[str, Any] = {}
    for path in plain:
        if is_identity_name(path.name):
            kind = chip if DEVICE_INFO.fullmatch(path.name) else metadata if path.name == METADATA_FILE else info
            kind.update(content := read_json(path))
            reading.notes.add("ascend_file_unreadable", file=path.name, count=0 if content else 1)
    for path, code in unread_neighbours(reading.source):
        reading.notes.add(code, file=path.name)
    summary = _summaries([path for path in plain if is_summary_name(path.name)], bool(databases), reading.notes)
    reading.out.add("reported", summary.reported)
    if databases:
        with open_database(databases[0], reading.notes) as database:
            require_data(database, database.path)
            note_foreign(database, reading.notes)
            of_database = DatabaseReading(database, Strings(database), reading.out, reading.notes)
            row = _read_rank(of_database, info, metadata, summary)
    else:
        row = identity.rank_columns(info, metadata)
        _write_summary_alone(summary, identity.parallel_groups(metadata), reading.out)
    row["framework"] = row["framework"] or framework_in_name(databases[0].name if databases else "")
    row |= identity.chip_columns(chip)
    row |= {
        "clock_base_ns": 0,
        "source": str(reading.source.path),
        "world_size": row["world_size"] or reading.source.world_size,
    }
    reading.out.add("ranks", pl.DataFrame([row], infer_schema_length=None))
    reading.took(reading.source.bytes)


def _read_rank(
    reading: DatabaseReading, info: dict[str, Any], beside: dict[str, Any], summary: Summary
) -> dict[str, Any]:
    """Everything of one rank's database; gives its columns of ``ranks``."""
    database, timeline, out = reading.database, reading.timeline, reading.out
    metadata = identity.metadata_of(database, beside)
    stated = identity.parallel_groups(metadata)
    groups = Groups(timeline, stated, reading.strings)
    host = add_host_calls(reading)
    device = read_tasks(reading)
    add_tasks(device, reading, groups)
    calls = communication.add_calls(reading, groups)
    slices = timeline.slices(reading.notes, database.file)
    cause = _causes(reading, slices, host, device, calls)
    out.add("links", cause.links)
    step = described_slices.fill(reading, slices, cause, _on_device(timeline, len(slices)))
    _fill_stacks(reading, slices, host, cause.origin)
    slices.write(out)
    write_all_details(host, device, calls, reading, slices.id)
    pmu.write_pmu(reading, device, slices.id)
    pmu.write_sample_summary(reading)
    parts = communication.transfers(reading, device, groups, slices, step)
    reading.note("db_peer_unmapped", count=int(parts["unmapped"].sum()))
    where = timeline.position["COMMUNICATION_OP"]
    rows = communication.collectives(calls, parts, slices, where, step, summary.calls)
    out.add("collectives", rows)
    out.add("transfers", parts.drop("op", "stream", "unmapped"))
    if calls.rows.height:
        lost = summary.calls["transit_ns"].count() - rows["transit_ns"].count()
        reading.notes.add("ascend_call_not_on_timeline", file=summary.file, count=lost)
    else:
        out.add("collectives", calls_without_timeline(summary.calls))
    if not parts.height:
        out.add("transfers", transfers_of_links(summary.links, stated, out.rank))
    out.add("groups", pl.concat([stated, groups.frame()], how="diagonal"))
    row = identity.rank_row(database, info, metadata, _devices(device), reading.notes)
    framework = row["framework"] or framework_in_name(database.file)
    memory.write_memory(reading, framework)
    counters.write_counters(reading)
    out.add("tracks", timeline.track_rows())
    note_missing(database, framework, reading.notes)
    if calls.rows.height and not summary.calls.height and not summary.is_damaged:
        switch = "msprof --analyze=on" if is_by_msprof(database, framework) else "profiler_level ≥ Level1"
        reading.note("db_summary_missing", switch=switch)
    reading.note("db_text_missing", count=len(reading.strings.unknown))
    if len(slices):
        row |= {"first_ns": int(slices.start.min()), "last_ns": int(slices.end.max())}
    return row


def _causes(
    reading: DatabaseReading,
    slices: SliceTable,
    host: HostCalls,
    device: DeviceTasks,
    calls: communication.Calls,
) -> links.Causes:
    # Parts of a communication call and wrappers of other tasks stand for no work of their own.
    counted = np.ones(len(slices), np.bool_)
    position = reading.timeline.position["TASK"]
    aside = position[(device.small.is_described | device.is_shell) & (position != NONE)]
    counted[aside] = False
    connections = {"TASK": device.connection, "COMMUNICATION_OP": calls.connection}
    return links.causes(reading, slices, host, connections, counted)


def _on_device(timeline: DatabaseTimeline, count: int) -> npt.NDArray[np.bool_]:
    on_device = np.zeros(count, np.bool_)
    for table in ("TASK", "COMMUNICATION_OP"):
        position = timeline.position[table]
        on_device[position[position != NONE]] = True
    return on_device


def _fill_stacks(
    reading: DatabaseReading,
    slices: SliceTable,
    host: HostCalls,
    origin: Int64s,
) -> None:
    number, rows = read_stacks(reading, host.python["callchainId"])
    reading.out.add("stacks", rows)
    position = reading.timeline.position["PYTORCH_API"]
    own = np.full(len(slices), NULL, np.int64)
    own[position[position != NONE]] = number[position != NONE]
    stack = inherited(slices, own, origin)
    stack[slices.is_kind("python", "module")] = NULL  # a frame's own stack is what lies around it
    slices.integers["stack"] = stack


def _devices(device: DeviceTasks) -> list[int]:
    """Device numbers, the one with most tasks first."""
    counted = device.tasks["deviceId"].drop_nulls().value_counts(sort=True)
    return [number for number in counted["deviceId"].to_list() if number >= 0]


def _summaries(paths: list[Path], optional: bool, notes: Notes) -> Summary:
    """The first file with results; where there is a database of the rank too, a damaged one is only noted."""
    summary = empty_summary()
    for path in paths:
        try:
            with open_database(path, notes) as database:
                require_data(database, path)
                note_foreign(database, notes)
                summary = read_summary(database)
        except UnreadableInputError as error:
            if not optional:
                raise
            summary.is_damaged = True
            notes.add("db_file_unreadable", file=path.name, **error.as_reason())
    return summary


def _write_summary_alone(summary: Summary, stated: pl.DataFrame, out: RankWriter) -> None:
    out.add("collectives", calls_without_timeline(summary.calls))
    out.add("transfers", transfers_of_links(summary.links, stated, out.rank))
    out.add("groups", pl.concat([stated, groups_seen(summary.calls, stated)], how="diagonal"))
