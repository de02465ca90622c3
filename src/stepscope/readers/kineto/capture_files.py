"""Traces of captures that lie beside the trace of the launches: read for their graphs alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stepscope.arrays import NULL
from stepscope.errors import UnreadableInputError
from stepscope.readers.files.reading import Reading
from stepscope.readers.kineto import identity
from stepscope.readers.kineto.arguments import ArgumentColumns
from stepscope.readers.kineto.arrows import LAUNCH_FLOWS
from stepscope.readers.kineto.described import describe
from stepscope.readers.kineto.graph_captures import CapturedGraph, DescribedTrace, captured_graphs
from stepscope.readers.kineto.trace_slices import joined, slices_of_trace
from stepscope.readers.slices import pytorch
from stepscope.readers.trace_json.event_columns import EventColumns
from stepscope.readers.trace_json.trace_text import TraceText


def captured_in(path: Path, reading: Reading) -> list[CapturedGraph]:
    """The graphs that a trace beside the one that is read captures; a trace that cannot be read is noted."""
    try:
        text = TraceText(path, reading.notes, reading.on_read)
        columns = EventColumns(reading.notes, path.name, LAUNCH_FLOWS)
        arguments = ArgumentColumns()
        for events in text.batches():
            arguments.add(columns.add(events)["X"], columns)
    except UnreadableInputError as error:
        reading.notes.add("graph_capture_unreadable", file=path.name, **error.as_reason())
        return []
    base_ns = identity.base_ns(text.metadata)
    trace = slices_of_trace(columns, arguments, base_ns, reading)
    joins = joined(trace, arguments, base_ns, reading)
    stack, stacks = pytorch.stacks(
        trace.table, joins.launch, trace.argument["stack"], arguments.texts["stack"], of_frames=True
    )
    describe(trace, joins, np.full(len(trace.table), NULL, np.int64), arguments, stack)
    return captured_graphs(DescribedTrace(trace, joins, arguments, stacks), path.name)
