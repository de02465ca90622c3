"""What caused what on the timeline: arrows, launches, and the framework operator behind each slice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Int64s
from stepscope.facts.ascend import ascend_facts
from stepscope.readers.ascend_text.timeline import TraceTimeline
from stepscope.readers.slices.flows import flow_links
from stepscope.readers.slices.slice_table import KIND, SliceTable
from stepscope.store.nesting import nearest
from stepscope.store.notes import Notes


@dataclass
class Causes:
    """Positions into the slices, NONE where there is none."""

    launch: Int64s  # call that launched a device slice
    operator: Int64s  # framework operator behind a call or a device slice
    links: pl.DataFrame


def causes(timeline: TraceTimeline, notes: Notes) -> Causes:
    """Bind all arrows of the timeline and follow them back to the framework's operators."""
    _rebind_bare_threads(timeline)
    slices = timeline.slices
    links = flow_links(slices, timeline.columns, 0, ascend_facts().link_kinds, notes)
    launch = _by_target(slices, links, "launch")
    links = pl.concat([links, _launches_by_id(timeline, launch, notes)], how="vertical_relaxed")
    operator = _operators(timeline, links, launch)
    return Causes(launch, operator, links)


def mark_duplicates(timeline: TraceTimeline, notes: Notes) -> None:
    """A task that stands on its stream and again on a plane counts once: the stream's copy becomes ``reported``.

    Only the copy says which call launched it, so the plane's task takes that over.
    """
    argument, slices = timeline.argument, timeline.slices
    identified = (argument["stream"] != NULL) & (argument["task"] != NULL)
    keys = ["stream", "task", "context", "start"]
    columns = {name: argument[name] for name in keys[:3]} | {"start": slices.start}

    def frame(layer: str) -> pl.DataFrame:
        tasks = np.flatnonzero(timeline.on_layer(layer) & identified)
        return pl.DataFrame({"position": tasks} | {name: values[tasks] for name, values in columns.items()})

    pairs = frame("hardware").join(frame("plane"), on=keys, how="inner", suffix="_plane")
    twice = pairs["position"].unique().to_numpy()
    argument["connection"][pairs["position_plane"].to_numpy()] = argument["connection"][pairs["position"].to_numpy()]
    slices.kind[twice] = KIND["reported"]
    timeline.unknown_task[twice] = False
    notes.add("ascend_task_shown_twice", file=timeline.file, count=len(twice))


def mark_parts_of_calls(timeline: TraceTimeline) -> None:
    """Copies on a stream that a communication call launched are its parts; at level 0 no plane shows them."""
    slices, connection = timeline.slices, timeline.argument["connection"]
    calls = connection[timeline.on_layer("group") & (connection != NULL)]
    moves = timeline.on_layer("hardware") & slices.is_kind("copy") & np.isin(connection, calls)
    slices.kind[moves] = KIND["comm_task"]


def positions(slices: SliceTable, ids: pl.Series) -> Int64s:
    """Where the slices with these ids stand."""
    ascending = bool((slices.id[1:] > slices.id[:-1]).all())  # as they do unless there are begins or instants
    if ascending:
        return np.searchsorted(slices.id, ids.to_numpy())
    order = np.argsort(slices.id, kind="stable")
    return order[np.searchsorted(slices.id[order], ids.to_numpy())]


def _rebind_bare_threads(timeline: TraceTimeline) -> None:
    """At level 0 the calls of CANN have no slices: their arrows start in the framework's slice of that thread."""
    flows = timeline.columns.flows
    index, track, category, name, *more = flows.take(3)
    with_slices = np.zeros(len(timeline.columns.tracks) + 1, np.bool_)
    with_slices[timeline.slices.track] = True
    moved = track.copy()
    for bare, same in timeline.known_tracks.same_thread.items():
        if not with_slices[bare]:
            moved[track == bare] = same
    if len(index):
        flows.extend(index, moved, category, name, *more)


def _launches_by_id(timeline: TraceTimeline, launch: Int64s, notes: Notes) -> pl.DataFrame:
    """Launches of tasks without an arrow: the file draws one only for the first task of a launch. Fills ``launch``."""
    slices, connection = timeline.slices, timeline.argument["connection"]
    calls = np.flatnonzero(timeline.on_layer("cann") & (connection != NULL))
    tasks = timeline.on_layer("hardware", "group", "plane") & ~slices.is_kind("reported", "mark") & (launch == NONE)
    if len(calls):
        # Of several calls with one id the shortest is the innermost.
        calls = calls[np.lexsort((-slices.dur[calls], connection[calls]))]
        ids = connection[calls]
        asking = np.flatnonzero(tasks & (connection != NULL))
        call = np.searchsorted(ids, connection[asking], side="right") - 1
        launched = (call >= 0) & (ids[np.maximum(call, 0)] == connection[asking])
        launch[asking[launched]] = calls[call[launched]]
        notes.add("ascend_task_unlaunched", file=timeline.file, count=int((tasks & (launch == NONE)).sum()))
    new = np.flatnonzero(tasks & (launch != NONE))
    return pl.DataFrame(
        {
            "kind": pl.Series(["launch"] * len(new), dtype=pl.String),
            "from_slice": slices.id[launch[new]],
            "to_slice": slices.id[new],
        }
    )


def _by_target(slices: SliceTable, links: pl.DataFrame, kind: str) -> Int64s:
    """For each slice the position where an arrow of this kind comes from; the first of several."""
    source = np.full(len(slices), NONE, np.int64)
    chosen = links.filter(pl.col("kind") == kind).reverse()
    if chosen.height:
        source[positions(slices, chosen["to_slice"])] = positions(slices, chosen["from_slice"])
    return source


def _operators(timeline: TraceTimeline, links: pl.DataFrame, launch: Int64s) -> Int64s:
    slices = timeline.slices
    count = len(slices)
    around = np.append(nearest(slices.parent, slices.is_kind("operator")), NONE)  # the last entry stands for NONE
    operator = np.full(count, NONE, np.int64)
    on_host = timeline.on_layer("python", "mindspore", "cpu_op")
    calls = slices.is_kind("runtime")
    operator[on_host & calls] = around[:-1][on_host & calls]
    # A dequeued task runs for the operator that enqueued it.
    enqueued = _by_target(slices, links, "queue")
    dequeued = np.flatnonzero((enqueued != NONE) & (operator == NONE))
    operator[dequeued] = around[enqueued[dequeued]]
    # A call of CANN belongs to what the same thread did in the framework's layer at that moment.
    native = np.flatnonzero(timeline.on_layer("cann"))
    if len(native) and timeline.known_tracks.same_thread:
        same = np.full(len(timeline.columns.tracks), -1, np.int32)
        same[list(timeline.known_tracks.same_thread)] = list(timeline.known_tracks.same_thread.values())
        holder = slices.nesting.containing(same[slices.track[native]], slices.start[native])
        own = around[holder]
        behind = np.where(holder == NONE, NONE, operator[holder])
        operator[native] = np.where(own != NONE, own, behind)
    direct = _by_target(slices, links, "operator_launch")
    launched = np.flatnonzero(direct != NONE)
    operator[launched] = around[direct[launched]]
    rest = np.flatnonzero((operator == NONE) & (launch != NONE))
    operator[rest] = operator[launch[rest]]
    return operator
