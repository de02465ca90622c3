"""Times of events: as the file has them, or made from their order where it has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from stepscope.arrays import NULL
from stepscope.readers.memory_snapshot.trace_columns import Trace
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.store.notes import Notes

#: Apart from each other where only the order is known.
_STEP_NS: Final = 1000


def with_times(
    traces: dict[int, Trace], annotations: SliceTable, notes: Notes, file: str
) -> tuple[dict[int, Trace], str]:
    """Traces whose every event has a time, and what the times are: ``recorded`` or ``order``.

    torch_npu records none; their order then stands for the time, and nobody must take it for more.
    """
    if not any((trace.time != NULL).any() for trace in traces.values()):
        if not traces:
            return traces, "recorded"
        notes.add("snapshot_without_times", file=file, count=sum(map(len, traces.values())))
        return {device: replace(trace, time=trace.seq * _STEP_NS) for device, trace in traces.items()}, "order"
    missing = {device: trace.time == NULL for device, trace in traces.items()}
    notes.add("snapshot_event_without_time", file=file, count=sum(int(absent.sum()) for absent in missing.values()))
    return {device: replace(trace, time=_filled(trace)) for device, trace in traces.items()}, "recorded"


def _filled(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Events without a time take that of the one before them, the first ones that of the first that has one."""
    there = trace.time != NULL
    if there.all() or not there.any():
        return np.where(there, trace.time, 0)
    latest = np.maximum.accumulate(np.where(there, np.arange(len(trace)), -1))
    return np.asarray(trace.time[np.where(latest < 0, int(np.argmax(there)), latest)])
