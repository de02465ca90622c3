"""What caused what: links between calls and tasks by connection ids, and the framework operator behind each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.ascend_db.database_reading import DatabaseReading
from stepscope.readers.ascend_db.host import OPERATOR, QUEUE, HostCalls
from stepscope.readers.ascend_db.joins import first_match
from stepscope.readers.ascend_db.timeline import DatabaseTimeline, connections, numbers
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.sqlite.database import Database
from stepscope.store.nesting import nearest


@dataclass
class Causes:
    """Positions into the slices, NONE where there is none."""

    launch: Int64s  # call that launched a device slice
    origin: Int64s  # framework's slice behind a call of CANN or a device slice
    operator: Int64s  # framework operator behind it
    links: pl.DataFrame


def causes(
    reading: DatabaseReading,
    slices: SliceTable,
    host: HostCalls,
    device: dict[str, Int64s],
    counted: Bools,
) -> Causes:
    """All links. ``device``: connection ids of the rows of each device table; ``counted``: slices that stand for
    the work itself, neither for a part of it nor for its wrapper.
    """
    on_device = _device_slices(reading.timeline, device)
    launch = np.full(len(slices), NONE, np.int64)
    calls = reading.timeline.position["CANN_API"]
    keys = np.where(calls == NONE, NULL, connections(host.cann["connectionId"]))
    by_start = np.argsort(slices.start[calls], kind="stable") if len(calls) and len(slices) else np.arange(len(calls))
    known = keys[keys != NULL]
    reading.note("duplicate_correlation", count=len(known) - len(np.unique(known)))
    match = first_match(keys[by_start], on_device["connection"].to_numpy())
    launched = match != NONE
    launch[on_device["position"].to_numpy()[launched]] = calls[by_start[match[launched]]]
    reading.note("db_task_without_launch", count=int((~launched).sum()))
    framework = _framework_connections(reading.database, reading.timeline, host, slices)
    operators = framework.filter(pl.col("type") == OPERATOR).unique("connection", keep="first", maintain_order=True)
    stated = on_device.join(
        operators.select("connection", origin="position"), on="connection", how="inner", maintain_order="left"
    )
    arrows = _arrows(framework, on_device)
    origin = _origins(reading.timeline, slices, host, arrows)
    inherited = np.where(launch != NONE, origin[launch], NONE) if len(slices) else launch
    origin = np.where(origin == NONE, inherited, origin)
    origin[stated["position"].to_numpy()] = stated["origin"].to_numpy()
    pairs = stated.filter(pl.Series(counted[stated["position"].to_numpy()], dtype=pl.Boolean))
    around = np.append(nearest(slices.parent, slices.is_kind("operator")), NONE)  # the last entry stands for NONE
    markers = _marker_links(reading.timeline, host, on_device)
    links = [
        _links(slices, "launch", launch[launch != NONE], np.flatnonzero(launch != NONE)),
        _links(slices, "operator_launch", pairs["origin"].to_numpy(), pairs["position"].to_numpy()),
        *(
            _links(slices, kind, own["from"].to_numpy(), own["to"].to_numpy())
            for (kind,), own in arrows.group_by("kind", maintain_order=True)
        ),
        _links(slices, "flow", markers["from"].to_numpy(), markers["position"].to_numpy()),
    ]
    return Causes(launch, origin, around[origin], pl.concat(links))


def _device_slices(timeline: DatabaseTimeline, device: dict[str, Int64s]) -> pl.DataFrame:
    """Position and connection of everything on the device that has one."""
    frames = []
    for table, connection in device.items():
        position = timeline.position[table]
        having = np.flatnonzero(position != NONE)
        frames.append(pl.DataFrame({"position": position[having], "connection": connection[having]}))
    return pl.concat(frames)


def _framework_connections(
    database: Database, timeline: DatabaseTimeline, host: HostCalls, slices: SliceTable
) -> pl.DataFrame:
    """Position, type, start and connection of the framework's calls; one call may have several connections."""
    position = timeline.position["PYTORCH_API"]
    placed = np.flatnonzero(position != NONE)
    calls = pl.DataFrame(
        {
            "position": position[placed],
            "id": numbers(host.python["connectionId"])[placed],
            "type": numbers(host.python["type"])[placed],
            "start": slices.start[position[placed]],
        }
    ).filter(pl.col("id") != NULL)
    if not database.has_rows("CONNECTION_IDS"):
        return calls.rename({"id": "connection"})
    pairs = database.frame("CONNECTION_IDS", ["id", "connectionId"]).drop_nulls().rename({"connectionId": "connection"})
    return calls.join(pairs, on="id", how="inner", maintain_order="left_right").drop("id")


def _arrows(framework: pl.DataFrame, on_device: pl.DataFrame) -> pl.DataFrame:
    """Pairs of framework calls that share a connection: enqueue and dequeue, forward and backward."""
    shared = framework.join(on_device, on="connection", how="anti", maintain_order="left").sort(
        "start", maintain_order=True
    )
    first = shared.unique("connection", keep="first", maintain_order=True)
    later = shared.join(
        first.select("connection", "type", pl.col("position").alias("from")),
        on=["connection", "type"],
        how="inner",
        maintain_order="left",
    ).filter(pl.col("position") != pl.col("from"))
    kind = pl.when(pl.col("type") == QUEUE).then(pl.lit("queue")).when(pl.col("type") == OPERATOR)
    return later.select("from", to="position", kind=kind.then(pl.lit("forward_backward")).otherwise(pl.lit("flow")))


def _origins(timeline: DatabaseTimeline, slices: SliceTable, host: HostCalls, arrows: pl.DataFrame) -> Int64s:
    """The framework's slice behind each call: what its thread was doing then, or what enqueued that."""
    queued = arrows.filter(pl.col("kind") == "queue")
    enqueued = np.full(len(slices), NONE, np.int64)
    enqueued[queued["to"].to_numpy()] = queued["from"].to_numpy()
    own = timeline.position["PYTORCH_API"]
    own = own[own != NONE]
    own = own[slices.is_kind("runtime")[own]]
    origin = np.full(len(slices), NONE, np.int64)
    origin[own] = np.where(enqueued[own] != NONE, enqueued[own], own)
    calls = timeline.position["CANN_API"]
    placed = np.flatnonzero(calls != NONE)
    if not len(placed) or not host.threads:
        return origin
    threads, thread_of_call = np.unique(host.cann_threads[placed], return_inverse=True)
    tracks = np.array([host.threads.get(thread, -1) for thread in threads.tolist()], np.int32)[thread_of_call]
    holder = slices.nesting.containing(tracks, slices.start[calls[placed]])
    dequeue = np.append(nearest(slices.parent, enqueued != NONE), NONE)[holder]
    origin[calls[placed]] = np.where(dequeue != NONE, enqueued[dequeue], holder)
    return origin


def _marker_links(timeline: DatabaseTimeline, host: HostCalls, on_device: pl.DataFrame) -> pl.DataFrame:
    position = timeline.position["MSTX_EVENTS"]
    markers = pl.DataFrame({"from": position, "connection": connections(host.markers["connectionId"])}).filter(
        (pl.col("from") != NONE) & (pl.col("connection") != NULL)
    )
    return markers.join(on_device, on="connection", how="inner", maintain_order="left_right")


def _links(slices: SliceTable, kind: str, from_position: Int64s, to_position: Int64s) -> pl.DataFrame:
    return pl.DataFrame({"from_slice": slices.id[from_position], "to_slice": slices.id[to_position]}).select(
        pl.lit(kind).alias("kind"), "from_slice", "to_slice"
    )
