"""A timeline made of kernel rows, for captures whose timeline file is missing or cannot be read."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL
from stepscope.readers.ascend.device_tasks import task_kind, unknown_task_kind
from stepscope.readers.ascend_text.counters import CounterSeries
from stepscope.readers.ascend_text.layers import CODE, known_tracks
from stepscope.readers.ascend_text.task_arguments import TaskArguments
from stepscope.readers.ascend_text.timeline import TraceTimeline
from stepscope.readers.slices.slice_table import KIND, SliceTable, believable
from stepscope.readers.trace_json.event_columns import EventColumns
from stepscope.store.notes import Notes

_HARDWARE, _COMMUNICATION = "Ascend Hardware", "Communication"
_NO_STREAM: Final = -1


def timeline_of_kernels(kernels: pl.DataFrame, table: str, notes: Notes) -> TraceTimeline:
    """One slice per row, on the track of its stream; communication calls on a track of their own."""
    columns = EventColumns(notes, table)
    count = kernels.height
    argument = TaskArguments().take(count)
    empty = pl.Series([None] * count, dtype=pl.String)
    words = {
        name: (kernels[name].cast(pl.String) if count else empty).fill_null("").to_list() for name in ("name", "core")
    }
    kind_of_core = {word: task_kind(word) or unknown_task_kind(has_kernel_data=True) for word in set(words["core"])}
    kinds = [kind_of_core[word] for word in words["core"]]
    streams = kernels["stream"].fill_null(_NO_STREAM).to_list() if count else []
    if count:
        for name in ("stream", "task"):
            argument[name] = kernels[name].fill_null(NULL).to_numpy().copy()
    track = [
        columns.tracks[(_COMMUNICATION, 0) if kind == "collective" else (_HARDWARE, stream)]
        for kind, stream in zip(kinds, streams, strict=True)
    ]
    for process, thread in columns.tracks:
        title = "Group 0 Communication" if process == _COMMUNICATION else f"Stream {thread}"
        title = title if thread != _NO_STREAM else "no stream"
        columns.metadata["process_name", process, 0] = {"name": process}
        columns.metadata["thread_name", process, thread] = {"name": title}
    code = np.array([columns.names[name] for name in words["name"]], np.int32)
    start = kernels["start"].to_numpy() if count else np.empty(0, np.int64)
    dur = kernels["dur"].to_numpy() if count else np.empty(0, np.int64)
    keep, dur = believable(start, dur, notes, table)
    known = known_tracks(columns.tracks, columns.metadata)
    slices = SliceTable(
        np.arange(count, dtype=np.int64)[keep],
        np.array(track, np.int32)[keep],
        start[keep],
        dur[keep],
        code[keep],
        columns.names,
        np.array([KIND[kind] for kind in kinds], np.int8)[keep],
    )
    layer = known.layer[slices.track] if len(slices) else np.empty(0, np.int32)
    assert not (layer == CODE["unknown"]).any()
    return TraceTimeline(
        table,
        columns,
        CounterSeries(columns, notes),
        known,
        slices,
        {name: values[keep] for name, values in argument.items()},
        TaskArguments().texts,
        layer,
        np.zeros(len(slices), np.bool_),
    )
