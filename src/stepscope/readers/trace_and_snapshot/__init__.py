"""A PyTorch trace and the memory snapshot of the same process, as one rank.

The trace tells the timeline and the steps. The snapshot tells the memory of the devices that it follows, which it knows
from before the window on and with call stacks; of other memory, such as the host's, the trace tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers import kineto, memory_snapshot
from stepscope.readers.discovery.source import Source
from stepscope.readers.trace_and_snapshot.joined_tables import SnapshotTables, TraceTables, rank_row
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter


def read(source: Source, out: RankWriter, notes: Notes, on_read: Callable[[int], None] | None = None) -> None:
    """Read the trace, then the snapshot; where the snapshot cannot be read, the trace stands alone."""
    trace_file, snapshot_file = source.files
    trace = TraceTables(out)
    kineto.read(replace(source, reader="kineto", files=(trace_file,)), trace, notes, on_read)
    snapshot = SnapshotTables(out, first_stack=trace.next_stack)
    try:
        own = Source(snapshot_file, "memory_snapshot", source.rank, (snapshot_file,))
        memory_snapshot.read(own, snapshot, notes, on_read)
    except UnreadableInputError as error:
        notes.add("snapshot_unreadable", file=snapshot_file.name, **error.as_reason())
        trace.write_memory(followed_elsewhere=set())
        out.add("ranks", trace.ranks())
        return
    trace.write_memory(followed_elsewhere=snapshot.devices)
    ranks, overlaps = rank_row(trace.ranks(), snapshot.ranks())
    if not overlaps:
        notes.add("snapshot_of_another_time", file=snapshot_file.name, trace=trace_file.name)
    out.add("ranks", pl.DataFrame([ranks], infer_schema_length=None))
