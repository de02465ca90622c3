"""Any other Chrome trace: JSON array or object, JAX and XProf exports, VizTracer, hand-made files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int8s, Int32s, Int64s
from stepscope.errors import UnreadableInputError
from stepscope.readers.chrome.kinds import kinds
from stepscope.readers.chrome.processes import TrackRoles, track_roles
from stepscope.readers.chrome.stack_frames import referred_stacks
from stepscope.readers.discovery.source import Source, named_rank
from stepscope.readers.files.reading import Reading
from stepscope.readers.reader import claims_no_directory as claim
from stepscope.readers.slices.flows import flow_links
from stepscope.readers.slices.named_collectives import named_collectives
from stepscope.readers.slices.pytorch import marked_steps
from stepscope.readers.slices.series import CounterEvents
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.slices.step_names import step_names
from stepscope.readers.slices.step_of_slices import step_of_slices
from stepscope.readers.slices.steps import Steps, extent, told_apart, whole_window
from stepscope.readers.slices.tracks import kinds_of_tracks, track_rows
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import Batch, EventColumns, arguments, details
from stepscope.readers.trace_json.trace_text import TraceText, looks_like_trace
from stepscope.store.notes import Notes

__all__ = ["claim", "claim_file", "read"]


_PROFILE_FOLDERS: Final = ["profile", "plugins"]  # above the folder of a run
_TRACE_ENDING: Final = re.compile(r"(?:\.trace)?\.json(?:\.gz)?$")
_MOST_DIGITS: Final = 18
_VIZTRACER: Final = "viztracer_metadata"


def claim_file(path: Path, head: bytes) -> Source | None:
    """Any Chrome trace is for this reader, if no special one wants it.

    In a folder of TensorBoard's profile plugin each folder is a run, named by its time, with one file per host.
    """
    if not looks_like_trace(path, head):
        return None
    rank, files = named_rank(path), (path,)
    if rank is not None or [folder.name for folder in (*path.parents,)[1:3]] != _PROFILE_FOLDERS:
        return Source(path, "chrome", rank, files)
    began = int("".join(re.findall(r"\d", path.parent.name))[:_MOST_DIGITS] or 0)
    return Source(path, "chrome", None, files, worker=_TRACE_ENDING.sub("", path.name), span=began or None)


def read(reading: Reading) -> None:
    """Read one trace file as one rank."""
    path = reading.source.path
    text = TraceText(path, reading.notes, reading.on_read)
    columns = EventColumns(reading.notes, path.name)
    counters = CounterEvents(columns)
    stated = _Stated()
    for events in text.batches():
        batch = columns.add(events)
        columns.add_instants(batch["i"])
        counters.add(batch["C"])
        stated.add(batch["X"])
        for part in (batch["X"], batch["i"]):
            reading.out.add("details", details(part))
    if not columns.events:
        raise UnreadableInputError("no_events", path=str(path))
    index, track, category, name, start, dur, is_mark = columns.slices()
    reading.out.add("details", columns.pair_details)
    correlations, step_numbers = stated.correlations, stated.step_numbers
    keep, dur = believable(start, dur, reading.notes, path.name)
    roles = track_roles(columns)
    device = roles.device
    on_device = np.isin(track, list(device))
    kind = kinds(columns, category, name, track, roles, only_python=_VIZTRACER in text.metadata)
    kind[np.isin(index, stated.operations) & ~on_device] = KIND["operator"]  # XLA computes on the host
    if device:
        kind[np.isin(index, list(correlations)) & ~on_device] = KIND["runtime"]
    kind[_marks_steps(columns, index, name, kind, step_numbers) & ~on_device] = KIND["step"]
    kind[is_mark] = KIND["mark"]
    slices = SliceTable(index[keep], track[keep], start[keep], dur[keep], name[keep], columns.names, kind[keep])
    on_device = on_device[keep]
    launch = np.full(len(slices), NONE, np.int64)
    if device and correlations:
        correlation = np.array([correlations.get(number, NULL) for number in slices.id.tolist()], np.int64)
        launch = _launches(slices, correlation, on_device)
        slices.integers["correlation"] = correlation
        reading.out.add("links", _launch_links(slices, launch))
    steps = _steps(slices, step_numbers, launch, reading.notes, path.name)
    device_work = on_device & slices.is_kind("kernel", "collective", "copy")
    slices.integers["step"] = step_of_slices(steps, slices, launch, device_work)
    stack, stacks, unknown = referred_stacks(text.metadata.get("stackFrames"), columns.frames, slices.id)
    reading.notes.add("stack_unknown", file=path.name, count=unknown)
    slices.integers["stack"] = stack
    reading.out.add("stacks", stacks)
    slices.texts["core"] = (np.where(device_work, 0, -1), [next(iter(device.values()), "gpu").upper()])
    reading.out.add("collectives", named_collectives(slices))
    slices.write(reading.out)
    reading.out.add("steps", steps.frame())
    reading.out.add("links", flow_links(slices, columns, 0, {}, reading.notes))
    counters.write(reading.out, 0, reading.notes, path.name)
    reading.out.add("tracks", _tracks(slices, on_device, columns, counters))
    reading.out.add("ranks", _rank_row(text.metadata, slices, roles, path))


@dataclass
class _Stated:
    """What events state in their arguments, by their index."""

    step_numbers: dict[int, int] = field(default_factory=dict)
    correlations: dict[int, int] = field(default_factory=dict)
    operations: list[int] = field(default_factory=list)  # which are XLA's

    def add(self, batch: Batch) -> None:
        self.step_numbers |= _numbers(batch, "step_num")
        self.correlations |= _numbers(batch, "correlation_id")
        self.operations += _with_argument(batch, "hlo_op")


def _numbers(batch: Batch, argument: str) -> dict[int, int]:
    """Event index to number, of events that have such an argument: JAX marks steps so, and joins launches."""
    numbers: dict[int, int] = {}
    for row, raw in _stating(batch, argument):
        number = str(arguments(raw).get(argument, ""))
        if number.isdecimal() and len(number) < 19:
            numbers[int(batch.index[row])] = int(number)
    return numbers


def _with_argument(batch: Batch, argument: str) -> list[int]:
    """Indices of the events that have such an argument."""
    return [int(batch.index[row]) for row, raw in _stating(batch, argument) if argument in arguments(raw)]


def _stating(batch: Batch, argument: str) -> list[tuple[int, bytes]]:
    """Rows whose arguments hold such a name, with their text. Most files have none, and need not look at each event."""
    key = f'"{argument}"'.encode()
    if key not in b"".join(batch.arguments):
        return []
    return [(row, raw) for row, raw in enumerate(batch.arguments) if key in raw]


def _launches(slices: SliceTable, correlation: Int64s, on_device: Bools) -> Int64s:
    """For each device slice the position of the host's call with its id, the first of several, else NONE."""
    launch = np.full(len(slices), NONE, np.int64)
    calls = np.flatnonzero(slices.is_kind("runtime") & (correlation != NULL))
    calls = calls[np.lexsort((slices.start[calls], correlation[calls]))]
    ids = correlation[calls]
    asking = np.flatnonzero(on_device & (correlation != NULL) & ~slices.is_kind("reported"))
    if len(ids):
        call = np.minimum(np.searchsorted(ids, correlation[asking]), len(ids) - 1)
        launched = ids[call] == correlation[asking]
        launch[asking[launched]] = calls[call[launched]]
    return launch


def _launch_links(slices: SliceTable, launch: Int64s) -> pl.DataFrame:
    launched = np.flatnonzero(launch != NONE)
    kind = pl.Series(["launch"] * len(launched), dtype=pl.String)
    return pl.DataFrame({"kind": kind, "from_slice": slices.id[launch[launched]], "to_slice": slices.id[launched]})


def _tracks(slices: SliceTable, on_device: Bools, columns: EventColumns, counters: CounterEvents) -> pl.DataFrame:
    reported = np.unique(slices.track[slices.is_kind("reported")]).tolist()
    track_kinds = kinds_of_tracks(slices.track, on_device) | dict.fromkeys(reported, "vendor")
    track_kinds |= dict.fromkeys(counters.numbers, "counter")
    return _processes_apart(track_rows(columns.tracks, columns.metadata, track_kinds), columns.tracks)


def _processes_apart(rows: pl.DataFrame, tracks: Codes) -> pl.DataFrame:
    """Processes of one name have their number behind it, so that they stay several."""
    if rows.is_empty():
        return rows
    pids = [str(key[0]) for key in tracks]
    own = pl.Series([pids[number] for number in rows["track"].to_list()], dtype=pl.String)
    named = rows.with_columns(pid=own)
    shared = pl.col("pid").n_unique().over("process") > 1
    label = pl.when(shared).then(pl.format("{} (pid {})", "process", "pid")).otherwise("process")
    return named.with_columns(process=label).drop("pid")


def _marks_steps(
    columns: EventColumns, index: Int64s, name: Int32s, kind: Int8s, step_numbers: dict[int, int]
) -> Bools:
    """Which events mark steps: those with a number as an argument, else ranges that are named so."""
    if step_numbers:
        return np.isin(index, list(step_numbers))
    words = [text or "" for text in columns.names.texts()] or [""]
    ranges = kind == KIND["annotation"]
    used = np.zeros(len(words), np.bool_)
    used[name[ranges]] = True
    marks: Bools = ranges & step_names(words, used)[name]
    return marks


def _steps(slices: SliceTable, numbers: dict[int, int], launch: Int64s, notes: Notes, file: str) -> Steps:
    if not numbers:
        named = told_apart(marked_steps(slices), notes, file)
        return named if len(named.number) else whole_window(slices, notes, file, launch)
    marks = np.flatnonzero(slices.is_kind("step"))
    if not len(marks):
        return whole_window(slices, notes, file, launch)
    marks = marks[np.argsort(slices.start[marks], kind="stable")]
    number = np.array([numbers[index] for index in slices.id[marks].tolist()], np.int64)
    return Steps(number, slices.start[marks], slices.end[marks], "step_num")


def _rank_row(metadata: dict[str, Any], slices: SliceTable, roles: TrackRoles, path: Path) -> pl.DataFrame:
    xprof = "jax" if "highres-ticks" in str(metadata.get("metadata")) else None
    row: dict[str, Any] = {
        "framework": roles.framework or xprof,
        "device_kind": next(iter(roles.device.values()), "cpu"),
        "clock_base_ns": 0,
        "source": str(path),
    }
    if _VIZTRACER in metadata:
        row["versions"] = str(metadata[_VIZTRACER])
    if len(slices):
        row |= dict(zip(("first_ns", "last_ns"), extent(slices), strict=True))
    return pl.DataFrame([row])
