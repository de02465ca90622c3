"""What device slices wait for: their launch, the slice before them on their stream, and slices on other streams."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.foundation import work as lanes
from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.replay import edge_kinds as kinds
from stepscope.analysis.replay.graph import Edges
from stepscope.analysis.replay.nodes import Device, Nodes
from stepscope.analysis.replay.recorded_waits import RecordedWaits
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.facts.critical_path import critical_path_facts

_KIND_OF_LANE = {lanes.COMPUTE: kinds.COMPUTE, lanes.COMMUNICATION: kinds.COMMUNICATION, lanes.COPY: kinds.COPY}


def edges(parts: list[tuple[Int64s, Int64s, Int64s, int, Int64s]]) -> Edges:
    """Edges from source, target, floor, kind and subject of several sets."""
    return Edges(
        source=np.concatenate([part[0] for part in parts]).astype(np.int64),
        target=np.concatenate([part[1] for part in parts]).astype(np.int64),
        floor=np.concatenate([part[2] for part in parts]).astype(np.int64),
        kind=np.concatenate([np.full(len(part[0]), part[3], np.int8) for part in parts]),
        about=np.concatenate([part[4] for part in parts]).astype(np.int64),
    )


def device_edges(work: Launched, device: Device, nodes: Nodes, waits: RecordedWaits) -> tuple[Edges, int]:
    """All edges that end at a device slice, and how many waits between streams were inferred from times alone."""
    ids, issue = work.slice[device.work], issued(work)[device.work]
    begin = int(nodes.time[0])
    launched = np.flatnonzero((issue > begin) & (issue <= nodes.time[-1]) & (device.start > begin))
    usual = _usual_latency(work, device, issue, launched)
    before = latest_end(device.track, device.start, device.track, device.end)
    following = np.flatnonzero(before != NONE)
    launch_nodes = nodes.at(work.thread[device.work[launched]], issue[launched])
    parts = [
        (launch_nodes, nodes.start[launched], np.full(len(launched), usual), kinds.LAUNCH, ids[launched]),
        (nodes.end[before[following]], nodes.start[following], np.zeros(len(following)), kinds.STREAM, ids[following]),
        *_stated(ids, nodes, waits),
    ]
    under, over = _overlaps(device)
    for name, kind in _KIND_OF_LANE.items():
        mine = work.of(name)[device.work]
        own, early = np.flatnonzero(mine), mine[under]
        parts.append((nodes.start[own], nodes.end[own], device.end[own] - device.start[own], kind, ids[own]))
        until = device.start[over] - device.start[under]
        parts.append((nodes.start[under[early]], nodes.start[over[early]], until[early], kind, ids[under[early]]))
    known = np.isin(np.arange(len(ids)), launched)
    ready = np.maximum(np.where(known, issue + usual, begin), np.where(before == NONE, begin, device.end[before]))
    source, target = _inferred(work, device, before, ready, waits) if len(ids) else (ids, ids)
    parts.append((nodes.end[source], nodes.start[target], np.zeros(len(source)), kinds.EVENT, ids[target]))
    return edges(parts), len(source)


def latest_end(track: Int64s, moment: Int64s, tracks: Int64s, end: Int64s) -> Int64s:
    """Per moment the slice of its track that ended last before it or with it, NONE if none had.

    >>> latest_end(np.array([1, 1]), np.array([5, 4]), np.array([1, 1, 2]), np.array([3, 5, 4])).tolist()
    [1, 0]
    """
    latest = np.full(len(moment), NONE, np.int64)
    for own in np.unique(track):
        asking, having = np.flatnonzero(track == own), np.flatnonzero(tracks == own)
        having = having[np.argsort(end[having], kind="stable")]
        index = np.searchsorted(end[having], moment[asking], side="right") - 1
        there = index >= 0
        latest[asking[there]] = having[index[there]]
    return latest


def _overlaps(device: Device) -> tuple[Int64s, Int64s]:
    """Pairs of slices of a track of which the second starts a little before the first has ended.

    A stream keeps its order, so the second still waited for the first, though not to its end.
    """
    order = np.lexsort((device.start, device.track))
    first, second = order[:-1], order[1:]
    over = device.end[first] - device.start[second]
    little = critical_path_facts().inference.stream_wait_us * 1000
    near = (device.track[first] == device.track[second]) & (over > 0) & (over <= little)
    return first[near], second[near]


def issued(work: Launched) -> Int64s:
    """When the host let each slice go: as its call returned, or as it began where the slice started before that."""
    return np.where(work.call_end <= work.start, work.call_end, work.call_start)


def _usual_latency(work: Launched, device: Device, issue: Int64s, launched: Int64s) -> int:
    """The least time from there to the start on an idle stream, as seen here."""
    passed = device.start[launched] - issue[launched]
    # A slice that took long to start on an idle stream waited for something else.
    most = critical_path_facts().overhead.longest_launch_us * 1000
    idle = passed[work.found_empty[device.work[launched]] & (passed >= 0) & (passed <= most)]
    return int(idle.min()) if len(idle) else 0


def _stated(ids: Int64s, nodes: Nodes, waits: RecordedWaits) -> list[tuple[Int64s, Int64s, Int64s, int, Int64s]]:
    """Waits that an arrow tells."""
    if not len(waits.event_source) or not len(ids):
        return []
    order = np.argsort(ids, kind="stable")
    sorted_positions = [
        np.minimum(np.searchsorted(ids[order], side), len(ids) - 1) for side in (waits.event_source, waits.event_target)
    ]
    source, target = (order[rows] for rows in sorted_positions)
    there = (ids[source] == waits.event_source) & (ids[target] == waits.event_target)
    source, target = source[there], target[there]
    return [(nodes.end[source], nodes.start[target], np.zeros(len(source), np.int64), kinds.EVENT, ids[target])]


def _inferred(
    work: Launched, device: Device, before: Int64s, ready: Int64s, waits: RecordedWaits
) -> tuple[Int64s, Int64s]:
    """Slices that started long after they could, just behind the end of one on another stream.

    Where waits between streams were recorded, only behind one of those.
    """
    limits = critical_path_facts().inference
    everywhere = np.zeros(len(device.start), np.int64)
    last = latest_end(everywhere, device.start, everywhere, device.end)
    end = np.where(last == NONE, ready, device.end[last])
    late: Bools = (
        (last != NONE)
        & (device.track[last] != device.track)
        & (end > ready)
        & (device.start - ready > limits.least_delay_us * 1000)
        & (device.start - end <= limits.stream_wait_us * 1000)
    )
    if waits.known:
        call = work.call_start[device.work]
        before_call = np.where(before == NONE, np.iinfo(np.int64).min, call[before])
        before_end = np.where(before == NONE, np.iinfo(np.int64).min, device.end[before])
        late &= waits.between(device.track, (before_call, call), (before_end, device.start))
    target = np.flatnonzero(late)
    return last[target], target
