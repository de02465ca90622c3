"""A PyTorch trace and the memory snapshot of the same process, as one rank.

The trace tells the timeline and the steps. The snapshot tells the memory of the devices that it follows, which it knows
from before the window on and with call stacks; of other memory, such as the host's, the trace tells.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers import kineto, memory_snapshot
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.reader import claims_no_directory as claim  # two files become one source in discovery
from stepscope.readers.reader import claims_no_file as claim_file
from stepscope.readers.trace_and_snapshot.joined_tables import SnapshotTables, TraceTables, rank_row

__all__ = ["claim", "claim_file", "read"]


def read(reading: Reading) -> None:
    """Read the trace, then the snapshot; where the snapshot cannot be read, the trace stands alone."""
    trace_file, snapshot_file = reading.source.files[:2]
    trace = TraceTables(reading.out)
    kineto.read(reading.part(replace(reading.source, reader="kineto", files=(trace_file,)), trace))
    snapshot = SnapshotTables(reading.out, first_stack=trace.next_stack)
    try:
        own = Source(snapshot_file, "memory_snapshot", reading.source.rank, (snapshot_file,))
        memory_snapshot.read(reading.part(own, snapshot))
    except UnreadableInputError as error:
        reading.notes.add("snapshot_unreadable", file=snapshot_file.name, **error.as_reason())
        trace.write_memory(followed_elsewhere=set())
        reading.out.add("ranks", trace.ranks())
        return
    trace.write_memory(followed_elsewhere=snapshot.devices)
    ranks, overlaps = rank_row(trace.ranks(), snapshot.ranks())
    if not overlaps:
        reading.notes.add("snapshot_of_another_time", file=snapshot_file.name, trace=trace_file.name)
    reading.out.add("ranks", pl.DataFrame([ranks], infer_schema_length=None))
