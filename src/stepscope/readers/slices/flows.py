"""Links from flow events: arrows whose ends lie somewhere inside the slices that they join."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Int8s, Int32s, Int64s
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.trace_json.event_columns import ENDS_AT_NEXT, EventColumns
from stepscope.store.notes import Notes

#: Stands before the kind of a link in the category that our own export gives it.
OWN_CATEGORY: Final = "stepscope:"
_OWN_KINDS: Final = frozenset(
    ("launch", "operator_launch", "same_operator", "forward_backward", "queue", "event_wait", "send_receive", "flow")
)

# What an end of an arrow is, in the order that those of one moment have.
_START, _STEP, _END = range(3)


def flow_links(
    slices: SliceTable, columns: EventColumns, base_ns: int, kinds: dict[str, str], notes: Notes
) -> pl.DataFrame:
    """Rows of ``links``, one per step and end of a flow. ``kinds`` names the links of a flow's category; others are
    ``flow``.

    Ids are unique per category only. A link comes from the latest start or step of its id; where all of them are
    later, because clocks differ, from the only start.
    """
    _, track, category, _, time, ids, phase = columns.flows.take(3)
    holder = _holders(slices, track, np.where(time == NULL, NULL, time + base_ns), phase)
    bound = holder != NONE
    part = np.where(phase == ord("s"), _START, np.where(phase == ord("t"), _STEP, _END)).astype(np.int8)
    code, source, target, lost = _joined(category[bound], ids[bound], time[bound], part[bound], holder[bound])
    names = pl.Series([_kind(text or "", kinds) for text in columns.categories.texts()], dtype=pl.String)
    links = pl.DataFrame(
        {
            "kind": names.gather(code.astype(np.int64)),
            "from_slice": slices.id[source],
            "to_slice": slices.id[target],
        }
    )
    stated, more_unbound, more_lost = _stated_links(slices, columns)
    notes.add("flow_unbound", file=columns.file, count=int((~bound).sum()) + more_unbound)
    notes.add("flow_without_start", file=columns.file, count=lost + more_lost)
    return pl.concat([links, stated]) if stated.height else links


def _kind(category: str, kinds: dict[str, str]) -> str:
    own = category.removeprefix(OWN_CATEGORY)
    return own if own != category and own in _OWN_KINDS else kinds.get(category, "flow")


def _holders(slices: SliceTable, track: Int32s, moment: Int64s, phase: Int64s) -> Int64s:
    """The slice that each end of an arrow belongs to: the one around it, or the next to begin on its thread."""
    placed = moment != NULL
    holder = slices.nesting.containing(track, np.where(placed, moment, 0))
    at_next = np.flatnonzero(phase == ENDS_AT_NEXT)
    if len(at_next):
        holder[at_next] = _next(slices, track[at_next], moment[at_next])
    holder[~placed] = NONE
    return holder


def _next(slices: SliceTable, track: Int32s, moment: Int64s) -> Int64s:
    """The first slice of each track to begin at the moment or later, the longest of several; NONE if there is none."""
    order = slices.nesting.order  # by track, start, longest first
    tracks, start = slices.track[order], slices.start[order]
    following = np.full(len(track), NONE, np.int64)
    for number in np.unique(track).tolist():
        low, high = np.searchsorted(tracks, [number, number + 1])
        own = np.flatnonzero(track == number)
        index = low + np.searchsorted(start[low:high], moment[own])
        there = index < high
        following[own[there]] = order[index[there]]
    return following


def _stated_links(slices: SliceTable, columns: EventColumns) -> tuple[pl.DataFrame, int, int]:
    """Links of slices that say themselves which flows come in and go out; ends without slice; ends without start."""
    index, ids, comes_in, goes_out = columns.bound_flows.take(0)
    if not len(index):
        return pl.DataFrame(), 0, 0
    by_id = np.argsort(slices.id, kind="stable")
    nearest = np.minimum(np.searchsorted(slices.id, index, sorter=by_id), max(len(by_id) - 1, 0))
    holder = by_id[nearest] if len(by_id) else np.full(len(index), NONE)
    known = (slices.id[holder] == index) if len(by_id) else np.zeros(len(index), np.bool_)
    used = known & (comes_in | goes_out)
    part = np.where(comes_in, np.where(goes_out, _STEP, _END), _START).astype(np.int8)
    one = np.zeros(int(used.sum()), np.int32)  # these have no categories
    _, source, target, lost = _joined(one, ids[used], slices.start[holder[used]], part[used], holder[used])
    kind = pl.Series(["flow"] * len(source), dtype=pl.String)
    links = pl.DataFrame({"kind": kind, "from_slice": slices.id[source], "to_slice": slices.id[target]})
    return links, int((~known).sum()), lost


def _joined(
    category: Int32s, ids: Int64s, time: Int64s, part: Int8s, holder: Int64s
) -> tuple[Int32s, Int64s, Int64s, int]:
    """Category, slice before and slice behind of each link; how many ends have no start."""
    order = _in_order(category, ids, time, part)
    category, ids, part, holder = category[order], ids[order], part[order], holder[order]
    source = _source_of_each(category, ids, part)
    complete = (part != _START) & (source != NONE)
    lost = int((part != _START).sum()) - int(complete.sum())
    return category[complete], holder[source[complete]], holder[complete], lost


def _in_order(category: Int32s, ids: Int64s, time: Int64s, part: Int8s) -> Int64s:
    """By category, id and time, starts before ends. Writers mostly keep to this order for each id."""
    order = np.argsort(ids, kind="stable")
    order = order[np.argsort(category[order], kind="stable")]
    before, behind = order[:-1], order[1:]
    late = (time[behind] < time[before]) | ((time[behind] == time[before]) & (part[behind] < part[before]))
    if bool((late & (ids[behind] == ids[before]) & (category[behind] == category[before])).any()):
        return np.lexsort((part, time, ids, category))
    return order


def _source_of_each(category: Int32s, ids: Int64s, part: Int8s) -> Int64s:
    """For each event that of the start or step before it, else NONE; all are in order."""
    count = len(ids)
    if not count:
        return np.empty(0, np.int64)
    first = np.flatnonzero(np.append(True, (ids[1:] != ids[:-1]) | (category[1:] != category[:-1])))
    length = np.diff(np.append(first, count))
    sources = np.where(part == _END, NONE, np.arange(count))
    latest = np.append(NONE, np.maximum.accumulate(sources)[:-1])
    latest[latest < np.repeat(first, length)] = NONE
    is_start = part == _START
    alone = np.repeat(np.add.reduceat(is_start.astype(np.int64), first) == 1, length)
    only = np.repeat(np.maximum.reduceat(np.where(is_start, np.arange(count), NONE), first), length)
    return np.where((latest == NONE) & alone, only, latest)
