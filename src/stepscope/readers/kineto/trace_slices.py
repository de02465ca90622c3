"""The slices of a trace with their arguments, and how they hang together: launch, operator, phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.files.reading import Reading
from stepscope.readers.kineto.arguments import ArgumentColumns
from stepscope.readers.kineto.arrows import launches_by_arrow
from stepscope.readers.kineto.categories import kind_of_category
from stepscope.readers.kineto.device_tracks import DeviceTracks
from stepscope.readers.kineto.graph_spans import capture_spans, inside
from stepscope.readers.kineto.kinds import kinds
from stepscope.readers.kineto.launches import launches, operators
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.trace_json.event_columns import EventColumns


@dataclass
class TraceSlices:
    """All slices, their arguments as columns, which of them lie on a device, and how tracks are told apart."""

    table: SliceTable
    argument: dict[str, npt.NDArray[Any]]
    on_device: Bools
    tracks: DeviceTracks


@dataclass
class Joins:
    """By slice: position of the call that launched it, of the operator behind it, else NONE; and its phase."""

    launch: Int64s
    operator: Int64s
    phase: npt.NDArray[Any]
    device_work: Bools


def slices_of_trace(columns: EventColumns, arguments: ArgumentColumns, base_ns: int, reading: Reading) -> TraceSlices:
    """The slices of all events that have a believable time."""
    notes, file = reading.notes, reading.source.path.name
    index, track, category, name, start, dur, is_mark = columns.slices()
    argument = arguments.take(len(index))
    for code, text in enumerate(columns.categories.texts()):
        if text is not None and kind_of_category(text) is None:
            count = int(((category == code) & ~is_mark).sum())
            notes.add("category_unknown", file=file, count=count, category=text[:80])
    kind = kinds(category, name, columns.categories, columns.names)
    kind[is_mark] = KIND["mark"]
    tracks = DeviceTracks(columns, track, category)
    track, on_device = tracks.apart(track), tracks.on_device
    start = np.where(start == NULL, NULL, start + base_ns)
    keep, dur = believable(start, dur, notes, file)
    if keep.all():
        table = SliceTable(index, track, start, dur, name, columns.names, kind)
        return TraceSlices(table, argument, on_device, tracks)
    table = SliceTable(index[keep], track[keep], start[keep], dur[keep], name[keep], columns.names, kind[keep])
    argument = {column: values[keep] for column, values in argument.items()}
    return TraceSlices(table, argument, on_device[keep], tracks)


def joined(trace: TraceSlices, arguments: ArgumentColumns, base_ns: int, reading: Reading) -> Joins:
    """How the slices hang together; kernels that carry a collective become one."""
    slices = trace.table
    carries_collective = np.isin(
        slices.id, [index for index, own in arguments.collectives.items() if own.get("Collective name")]
    )
    slices.kind[slices.is_kind("kernel") & carries_collective] = KIND["collective"]
    file = reading.source.path.name
    launch = launches(slices, trace.argument["correlation"], trace.on_device, reading.notes, file)
    device_work = trace.on_device & slices.is_kind("kernel", "collective", "copy")
    if device_work.any() and (trace.argument["correlation"][device_work] == NULL).all():
        launch = launches_by_arrow(slices, device_work, base_ns, reading)
    operator = operators(slices, trace.argument.pop("external"), launch, trace.on_device)
    phase = pytorch.phases(slices, launch)
    phase[inside(slices, capture_spans(slices))] = pytorch.CAPTURE
    return Joins(launch, operator, phase, device_work)


def launch_links(slices: SliceTable, launch: Int64s) -> pl.DataFrame:
    """Rows of ``links`` from calls to what they launched."""
    launched = np.flatnonzero(launch != NONE)
    kinds = ["launch"] * len(launched)
    return pl.DataFrame({"kind": kinds, "from_slice": slices.id[launch[launched]], "to_slice": slices.id[launched]})
