"""Launches by the arrows of a trace, for writers that give calls and kernels no correlation (older ROCm)."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope.arrays import NONE, Bools, Int64s
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices.flows import flow_links
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.event_columns import EventColumns
from stepscope.readers.trace_json.trace_text import TraceText
from stepscope.store.notes import Notes

#: Categories of arrows from a call to what it launched.
LAUNCH_FLOWS: Final = ("ac2g", "async_cpu_to_gpu", "async_gpu")
#: What they are called here, apart from the launches of our own exports, which are kept as links by themselves.
_UNKEPT: Final = "launch arrow"


def launches_by_arrow(slices: SliceTable, device_work: Bools, base_ns: int, reading: Reading) -> Int64s:
    """For each device slice the position of the call from which an arrow comes to it, else NONE.

    The file is read a second time: others say the same by correlation, and their arrows are not kept.
    """
    columns = EventColumns(Notes(), reading.source.path.name)
    for events in TraceText(reading.source.path, Notes()).batches():
        columns.add(events)
    arrows = flow_links(slices, columns, base_ns, dict.fromkeys(LAUNCH_FLOWS, _UNKEPT), Notes())
    launch = np.full(len(slices), NONE, np.int64)
    order = np.argsort(slices.id, kind="stable")
    source, target = (
        order[np.searchsorted(slices.id[order], arrows[end].to_numpy())] for end in ("from_slice", "to_slice")
    )
    fits = (arrows["kind"] == _UNKEPT).to_numpy() & device_work[target] & slices.is_kind("runtime")[source]
    launch[target[fits]] = source[fits]
    return launch
