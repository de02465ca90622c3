"""Links from flow events: arrows whose ends lie somewhere inside the slices that they join."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.readers.event_columns import NULL, EventColumns
from stepscope.readers.slice_table import SliceTable
from stepscope.store.nesting import NONE
from stepscope.store.notes import Notes

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


def flow_links(
    slices: SliceTable, columns: EventColumns, base_ns: int, kinds: dict[str, str], notes: Notes
) -> pl.DataFrame:
    """Rows of ``links``, one per end of a flow. ``kinds`` names the links of a flow's category; others are ``flow``.

    Ids are unique per category only. An end belongs to the only start of its id, or, where an id is used again, to
    the latest one before it.
    """
    _, track, category, _, time, ids, phase = columns.flows.take(3)
    placed = time != NULL
    holder = slices.nesting.containing(track, np.where(placed, time + base_ns, 0))
    bound = placed & (holder != NONE)
    notes.add("flow_unbound", file=columns.file, count=int((~bound).sum()))
    category, ids, time, ends = category[bound], ids[bound], time[bound], phase[bound] != ord("s")
    order = _in_order(category, ids, time, ends)
    category, ids, ends = category[order], ids[order], ends[order]
    start = _start_of_each(category, ids, ends)
    complete = ends & (start != NONE)
    notes.add("flow_without_start", file=columns.file, count=int(ends.sum()) - int(complete.sum()))
    joined = slices.id[holder[bound][order]]
    names = pl.Series([kinds.get(text or "", "flow") for text in columns.categories.texts()], dtype=pl.String)
    return pl.DataFrame(
        {
            "kind": names.gather(category[complete].astype(np.int64)),
            "from_slice": joined[start[complete]],
            "to_slice": joined[complete],
        }
    )


def _in_order(category: Int32s, ids: Int64s, time: Int64s, ends: Bools) -> Int64s:
    """By category, id and time, starts before ends. Writers mostly keep to this order for each id."""
    order = np.argsort(ids, kind="stable")
    order = order[np.argsort(category[order], kind="stable")]
    before, behind = order[:-1], order[1:]
    late = (time[behind] < time[before]) | ((time[behind] == time[before]) & (ends[behind] < ends[before]))
    if bool((late & (ids[behind] == ids[before]) & (category[behind] == category[before])).any()):
        return np.lexsort((ends, time, ids, category))
    return order


def _start_of_each(category: Int32s, ids: Int64s, ends: Bools) -> Int64s:
    """For each place that of the start it belongs to, else NONE; all are in order."""
    count = len(ids)
    if not count:
        return np.empty(0, np.int64)
    first = np.flatnonzero(np.append(True, (ids[1:] != ids[:-1]) | (category[1:] != category[:-1])))
    length = np.diff(np.append(first, count))
    starts = np.where(ends, NONE, np.arange(count))
    latest = np.maximum.accumulate(starts)
    latest[latest < np.repeat(first, length)] = NONE
    alone = np.repeat(np.add.reduceat((~ends).astype(np.int64), first) == 1, length)
    return np.where(alone, np.repeat(np.maximum.reduceat(starts, first), length), latest)
