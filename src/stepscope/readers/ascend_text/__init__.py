"""Text captures of Ascend: what torch_npu, MindSpore Profiler and msprof write as JSON and CSV."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import Int64s
from stepscope.errors import UnreadableInputError
from stepscope.facts.ascend import ascend_facts
from stepscope.readers import minddata
from stepscope.readers.ascend import identity
from stepscope.readers.ascend.communication import calls_without_timeline, groups_seen, transfers_of_links
from stepscope.readers.ascend.rank_directory import DEVICE_INFO, METADATA_FILE, describe, is_information, read_json
from stepscope.readers.ascend_text import (
    collectives,
    communication_files,
    described_slices,
    kernel_details,
    links,
    memory,
    summaries,
)
from stepscope.readers.ascend_text.capture import claim, claim_file
from stepscope.readers.ascend_text.files import Deliverables, deliverables
from stepscope.readers.ascend_text.kernel_timeline import timeline_of_kernels
from stepscope.readers.ascend_text.layers import LAYERS, TRACK_KINDS
from stepscope.readers.ascend_text.parallel_strategy import read_strategy
from stepscope.readers.ascend_text.task_tables import write_task_table
from stepscope.readers.ascend_text.timeline import TraceTimeline, read_timeline
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices.track_numbers import TrackNumbers
from stepscope.readers.slices.tracks import track_rows
from stepscope.readers.sqlite.opening import note_cut_neighbours
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

__all__ = ["claim", "claim_file", "read"]

_POOLS: Final = {"pytorch": "PTA", "mindspore": "MindSpore"}
_TASK_TABLES: Final = {"l2_cache": "L2", "data_preprocess": "AI CPU", "aicpu": "AI CPU"}


def read(reading: Reading) -> None:
    """Read the files of one rank into the tables of ``out``."""
    files = deliverables(reading.source.files)
    _note_files(reading.source, files, reading.notes)
    info, metadata = _identity_files(reading)
    groups = identity.parallel_groups(metadata)
    row: dict[str, Any] = identity.rank_columns(info, metadata)
    for path in files.json("parallel_strategy"):
        stated, more = read_strategy(path, reading)
        row |= stated
        groups = pl.concat([groups, more], how="diagonal").unique("group", keep="first", maintain_order=True)
    kernels, table = _kernels(files, reading)
    timeline = _timeline(reading, files, kernels, table)
    # Without any there are summaries alone, as those who look at clusters collect them.
    step = _complete(timeline, kernels, table, reading) if timeline.file else np.empty(0, np.int64)
    _communication(timeline, files, groups, step, reading)
    timeline.slices.write(reading.out)
    _tables(timeline, files, row.get("framework"), reading)
    _write_tracks(timeline, reading.out)
    track_numbers = TrackNumbers(len(timeline.columns.tracks))
    minddata.read_pipeline(reading.source.files, reading, track_numbers)
    reading.out.add("tracks", track_numbers.frame())
    reading.out.add("ranks", pl.DataFrame([_rank_row(reading.source, row, timeline)], infer_schema_length=None))


def _complete(timeline: TraceTimeline, kernels: pl.DataFrame, table: str, reading: Reading) -> Int64s:
    """Fill in what one slice tells of another, write what is no slice; gives the step of each slice."""
    links.mark_duplicates(timeline, reading.notes)
    links.mark_parts_of_calls(timeline)
    row_of = kernel_details.join_kernels(timeline, kernels, table, reading.notes)
    kernel_details.note_unknown_tasks(timeline, row_of, reading.notes)
    kernel_details.write_counters(timeline.slices, kernels, row_of, reading.out)
    cause = links.causes(timeline, reading.notes)
    reading.out.add("links", cause.links)
    return described_slices.fill(timeline, cause, kernels, row_of, reading.out, reading.notes)


def _timeline(
    reading: Reading,
    files: Deliverables,
    kernels: pl.DataFrame,
    table: str,
) -> TraceTimeline:
    """The recorded timeline; where there is none, the kernels in their order of time."""
    paths = files.json("trace_view") or files.json("msprof")
    if reading.source.path.is_file() and not files.tables:
        paths = [reading.source.path]  # a timeline under a name of the user's own
    if paths:
        try:
            return read_timeline(paths, reading)
        except UnreadableInputError:
            if len(files.tables) <= 1:
                raise
            reading.notes.add("ascend_file_unreadable", file=paths[0].name)
    if kernels.height:
        reading.notes.add("ascend_timeline_from_kernels", file=table, count=kernels.height)
    return timeline_of_kernels(kernels, table, reading.notes)


def _kernels(files: Deliverables, reading: Reading) -> tuple[pl.DataFrame, str]:
    paths = files.csv("kernel_details") or files.csv("op_summary")
    if not paths and not (files.json("trace_view") or files.json("msprof")):
        paths = files.csv("task_time")
    elif files.csv("task_time"):
        reading.notes.add("ascend_file_repeats", file=files.csv("task_time")[0].name)
    return kernel_details.read_kernels(paths, reading) if paths else (pl.DataFrame(), "")


def _communication(
    timeline: TraceTimeline,
    files: Deliverables,
    groups: pl.DataFrame,
    step: Int64s,
    reading: Reading,
) -> None:
    calls = communication_files.read_calls(files.json("communication"), reading)
    matrix = communication_files.read_links(files.json("communication_matrix"), reading)
    on_planes = bool(timeline.file) and collectives.write_communication(
        timeline, calls, groups, step, reading.out, reading.notes
    )
    if not timeline.on_layer("group").any():
        reading.out.add("collectives", calls_without_timeline(calls))
    if not on_planes:
        reading.out.add("transfers", transfers_of_links(matrix, groups, reading.out.rank))
    reading.out.add("groups", groups)
    reading.out.add("groups", groups_seen(calls, groups))


def _tables(timeline: TraceTimeline, files: Deliverables, framework: str | None, reading: Reading) -> None:
    """Everything beside the timeline."""
    if paths := files.csv("memory_record"):
        memory.write_curves(paths, reading)
    if paths := files.csv("npu_module_mem"):
        memory.write_modules(paths, reading)
    if paths := files.csv("operator_memory"):
        memory.write_blocks(paths, _POOLS.get(framework or "", "device"), reading)
    if paths := files.csv("operator_details"):
        summaries.write_operator_totals(paths, reading)
    for stem in ascend_facts().reported:
        if paths := files.csv(stem):
            summaries.write_summary(stem, paths, reading, timeline.counters)
    for stem, prefix in _TASK_TABLES.items():
        if paths := files.csv(stem):
            write_task_table(paths, timeline, prefix, reading)


def _write_tracks(timeline: TraceTimeline, out: RankWriter) -> None:
    timeline.counters.write(out)
    slices, known_tracks = timeline.slices, timeline.known_tracks
    used = np.unique(slices.track).tolist()
    kinds = {number: TRACK_KINDS.get(LAYERS[known_tracks.layer[number]], "host") for number in used}
    kinds |= dict.fromkeys(timeline.counters.numbers, "counter")
    out.add("tracks", track_rows(timeline.columns.tracks, timeline.columns.metadata, kinds))


def _rank_row(source: Source, row: dict[str, Any], timeline: TraceTimeline) -> dict[str, Any]:
    slices, known_tracks = timeline.slices, timeline.known_tracks
    facts = row | {"clock_base_ns": 0, "source": str(source.path), "world_size": row["world_size"] or source.world_size}
    if source.path.is_dir():
        facts["framework"] = describe(source.path, []).framework or facts["framework"]
    on_device = timeline.on_layer("hardware", "group", "plane")
    if not on_device.any() and timeline.on_layer("cpu_op").any():
        facts["device_kind"] = "cpu"
    if len(known_tracks.device) == 1 and facts["device_index"] is None:
        facts["device_index"] = known_tracks.device[0]
    for path in source.files:
        if DEVICE_INFO.fullmatch(path.name):
            facts |= _device_facts(read_json(path))
    if len(slices):
        facts |= {"first_ns": int(slices.start.min()), "last_ns": int(slices.end.max())}
    return facts


def _device_facts(info: dict[str, Any]) -> dict[str, Any]:
    """What msprof's own information file says of the chip."""
    devices = info.get("DeviceInfo")
    device = devices[0] if isinstance(devices, list) and devices and isinstance(devices[0], dict) else {}
    columns = identity.device_columns(device)
    host = info.get("hostname")
    return columns | ({"host": host} if isinstance(host, str) and host else {})


def _identity_files(reading: Reading) -> tuple[dict[str, Any], dict[str, Any]]:
    info: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for path in reading.source.files:
        if path.name != METADATA_FILE and not is_information(path.name) and not DEVICE_INFO.fullmatch(path.name):
            continue
        reading.took(path.stat().st_size)
        if DEVICE_INFO.fullmatch(path.name):
            continue  # says nothing of who recorded
        content = read_json(path)
        if not content:
            reading.notes.add("ascend_file_unreadable", file=path.name)
        elif path.name == METADATA_FILE:
            metadata = content
        else:
            info = content
    return info, metadata


def _note_files(source: Source, files: Deliverables, notes: Notes) -> None:
    """What the directory has and nobody reads; what it lacks, and the switch that would have made it."""
    for path in files.older:
        notes.add("ascend_export_older", file=path.name)
    if source.path.is_dir():
        note_cut_neighbours(source.files, notes)
    folders = {path.parent for paths in files.tables.values() for path in paths}
    for folder in sorted(folders) if source.path.is_dir() else ():
        for path in sorted(folder.iterdir()):
            if path.suffix in (".csv", ".json") and path not in source.files:
                notes.add("ascend_file_unknown", file=path.name)
    if files.json("msprof") or files.csv("op_summary") or source.path.is_file():
        return  # made by msprof, which has other switches
    for name, switch in ascend_facts().switches.items():
        if name not in files.tables:
            notes.add("ascend_file_missing", file=name, switch=switch)
