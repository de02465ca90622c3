"""PyTorch profiler (Kineto) traces, of all versions and devices."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, Bools, Int64s
from stepscope.errors import UnreadableInputError
from stepscope.facts.communication import communication_facts
from stepscope.readers.files.reading import Reading
from stepscope.readers.kineto import collectives as communication
from stepscope.readers.kineto import identity
from stepscope.readers.kineto.arguments import ArgumentColumns
from stepscope.readers.kineto.arrows import LAUNCH_FLOWS
from stepscope.readers.kineto.capture_files import captured_in
from stepscope.readers.kineto.described import describe
from stepscope.readers.kineto.graph_captures import DescribedTrace, captured_graphs
from stepscope.readers.kineto.graph_launches import graph_launches, joined_graphs
from stepscope.readers.kineto.memory import MemoryEvents
from stepscope.readers.kineto.merged import own_process, parts
from stepscope.readers.kineto.profiler_ranges import counters_of_ranges
from stepscope.readers.kineto.recognition import claim_file
from stepscope.readers.kineto.trace_slices import Joins, TraceSlices, joined, launch_links, slices_of_trace
from stepscope.readers.reader import claims_no_directory as claim
from stepscope.readers.slices import pytorch
from stepscope.readers.slices.flows import flow_links
from stepscope.readers.slices.series import CounterEvents
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.step_of_slices import step_of_slices
from stepscope.readers.slices.steps import ChooseSteps, extent, told_apart, whole_window, with_device_work
from stepscope.readers.slices.tracks import kinds_of_tracks, track_rows
from stepscope.readers.trace_json.event_columns import EventColumns, details
from stepscope.readers.trace_json.trace_text import TraceText
from stepscope.store.nesting import nearest

__all__ = ["claim", "claim_file", "parts", "read"]

# Launches are joined by correlation; these arrows say the same, but every call has an end, launched or not.
_UNUSED_FLOWS: Final = LAUNCH_FLOWS
_FLOW_KINDS: Final = {"fwdbwd": "forward_backward", "forward_backward": "forward_backward"}


def read(
    reading: Reading,
    choose_steps: ChooseSteps | None = None,
) -> None:
    """Read one trace file of one rank into its tables.

    ``choose_steps`` is for a capture that knows its steps from elsewhere: it is given those that the trace marks.
    """
    path = reading.source.path
    text = TraceText(path, reading.notes, reading.on_read)
    columns = EventColumns(reading.notes, path.name, _UNUSED_FLOWS, own_process(reading.source))
    arguments = ArgumentColumns()
    memory = MemoryEvents()
    counters = CounterEvents(columns)
    for events in text.batches():
        batch = columns.add(events)
        marks = batch["i"].only(memory.add(batch["i"], columns.names))
        columns.add_instants(marks)
        counters.add(batch["C"])
        arguments.add(batch["X"], columns)
        reading.out.add("pmu", counters_of_ranges(batch["X"], columns))
        for part in (batch["X"], marks):
            reading.out.add("details", details(part))
    if not columns.events:
        raise UnreadableInputError("no_events", path=str(path))
    reading.out.flush("details")  # the largest table need not wait in memory while the slices are worked out
    identity.note_profiler_log(text.metadata, reading.notes, path.name)
    base_ns = identity.base_ns(text.metadata)
    trace = slices_of_trace(columns, arguments, base_ns, reading)
    slices = trace.table
    reading.out.add("details", columns.pair_details)
    groups = identity.groups(text.metadata)
    joins = joined(trace, arguments, base_ns, reading)
    reading.out.add("links", launch_links(slices, joins.launch))
    step = _write_steps(trace, joins, choose_steps, reading)
    stack, stacks = pytorch.stacks(
        slices, joins.launch, trace.argument["stack"], arguments.texts["stack"], of_frames=True
    )
    reading.out.add("stacks", stacks)
    describe(trace, joins, step, arguments, stack)
    reading.out.add("stacks", _join_graphs(trace, joins, arguments, stacks, reading))
    reading.out.add("collectives", _collectives(trace, joins, arguments, groups))
    slices.write(reading.out)
    reading.out.add("links", flow_links(slices, columns, base_ns, _FLOW_KINDS, reading.notes))
    memory.write(reading.out, slices, stack, base_ns, reading.notes, path.name)
    counters.write(reading.out, base_ns, reading.notes, path.name)
    track_kinds = kinds_of_tracks(slices.track, trace.on_device) | dict.fromkeys(counters.numbers, "counter")
    described = trace.tracks.described(track_kinds)
    reading.out.add("tracks", track_rows(columns.tracks, columns.metadata, track_kinds, described))
    reading.out.add("groups", groups)
    reading.out.add("groups", communication.groups_seen(arguments.collectives))
    reading.out.add("ranks", _rank_row(text.metadata, columns, slices, trace.on_device, path))


def _write_steps(trace: TraceSlices, joins: Joins, choose_steps: ChooseSteps | None, reading: Reading) -> Int64s:
    """Write the steps; gives the step of each slice."""
    slices, file = trace.table, reading.source.path.name
    steps = told_apart(pytorch.marked_steps(slices), reading.notes, file)
    if choose_steps is not None:
        steps = choose_steps(steps)
    if not len(steps.number):
        steps = whole_window(slices, reading.notes, file, joins.launch)
    step = step_of_slices(steps, slices, joins.launch, joins.device_work)
    forward, backward = joins.phase == pytorch.FORWARD, joins.phase == pytorch.BACKWARD
    rows = with_device_work(steps, slices, step, joins.device_work, forward, backward, joins.operator)
    reading.out.add("steps", rows)
    return step


def _join_graphs(
    trace: TraceSlices, joins: Joins, arguments: ArgumentColumns, stacks: pl.DataFrame, reading: Reading
) -> pl.DataFrame:
    """Describe what graphs launched by what was captured, here or in traces beside this one; gives further stacks."""
    described = DescribedTrace(trace, joins, arguments, stacks)
    file = reading.source.path.name
    node = trace.argument["node"]
    if not any(graph_launches(described, node)):
        return stacks.clear()
    graphs = captured_graphs(described, file)
    for path in reading.source.graph_captures:
        graphs += captured_in(path, reading)
    known = joined_graphs(described, node, graphs)
    known.note(reading.notes, file, len(graphs))
    reading.out.add("links", known.links(trace.table))
    return known.describe(trace.table, stacks)


def _collectives(trace: TraceSlices, joins: Joins, arguments: ArgumentColumns, groups: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``collectives``, of slices that are described."""
    slices = trace.table
    own = np.flatnonzero(slices.is_kind("collective"))
    enqueued = _enqueued(slices, joins.launch)[own]
    calls = communication.Calls(
        arguments.collectives, arguments.host_transfers, _described(slices, own), _described(slices, enqueued), groups
    )
    step, stream = slices.integers["step"], slices.integers["stream"]
    return communication.collectives(slices, calls, joins.operator, step, stream)


def _described(slices: SliceTable, positions: Int64s) -> list[communication.Described]:
    """Name, shapes and types of the slices at some positions."""
    names = slices.names.texts()
    columns: list[list[str | None]] = [[None if at == NONE else names[slices.name[at]] for at in positions.tolist()]]
    for column in ("input_shapes", "dtypes"):
        codes, texts = slices.texts[column]
        columns.append([None if at == NONE or codes[at] < 0 else texts[codes[at]] for at in positions.tolist()])
    return [communication.Described(*values) for values in zip(*columns, strict=True)]


def _enqueued(slices: SliceTable, launch: Int64s) -> Int64s:
    """Position of the annotation of a process group around the launch of each slice, else NONE."""
    is_enqueueing = re.compile(communication_facts().enqueueing).search
    names = np.array([bool(is_enqueueing(word or "")) for word in slices.names.texts()] or [False])
    around = nearest(slices.parent, slices.is_kind("annotation") & names[slices.name])
    return np.append(around, NONE)[launch]  # the last position stands for a launch that is not known


def _rank_row(
    metadata: dict[str, Any], columns: EventColumns, slices: SliceTable, on_device: Bools, path: Path
) -> pl.DataFrame:
    tracks = list(columns.tracks)
    devices = {identity.integer(tracks[number][0], 31) for number in np.unique(slices.track[on_device]).tolist()}
    row = identity.rank_row(metadata, sorted(device for device in devices if device is not None), str(path))
    times = dict(zip(("first_ns", "last_ns"), extent(slices), strict=True)) if len(slices) else {}
    return pl.DataFrame([row | times])
