"""What host threads wait for: their own earlier calls, other threads that hand over to them, and the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.blocking_calls import blocking_calls
from stepscope.analysis.foundation.host_activity import Host
from stepscope.analysis.foundation.intervals import Intervals, difference
from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.foundation.rank_tables import links_of
from stepscope.analysis.replay import edge_kinds as kinds
from stepscope.analysis.replay.device_edges import edges, issued
from stepscope.analysis.replay.done_calls import done_at
from stepscope.analysis.replay.full_queue import held_by_full_queue
from stepscope.analysis.replay.graph import Edges, together
from stepscope.analysis.replay.loader_edges import loader_edges, starved_waits
from stepscope.analysis.replay.nodes import Device, Nodes, stretches
from stepscope.analysis.replay.recorded_waits import RecordedWaits
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.facts.critical_path import critical_path_facts
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class Threads:
    """When each thread was in a call, who may hand over to whom, and the moments that matter."""

    busy: dict[int, Intervals]
    primary: list[int]  # the training loop and the threads of its backward pass
    blocked: Int64s  # rows of calls that wait for the device
    enqueue: Int64s  # rows of slices joined by queues
    dequeue: Int64s
    collective: Int64s  # rows of collectives that the host carries out
    done: Int64s  # when each of these lets others go on
    loader: Int64s  # rows of the loop's long waits for a loader that works beside it
    point_thread: Int64s
    point_time: Int64s


def threads_of(store: RunStore, rank: int, work: Launched, device: Device, loop_moments: Int64s) -> Threads:
    """Find out. ``loop_moments`` of the training loop matter in any case."""
    host = work.host
    arrows = links_of(store, rank)
    enqueue, dequeue = _placed(host, arrows.filter(pl.col("kind") == "queue"))
    forward, backward = _placed(host, arrows.filter(pl.col("kind") == "forward_backward"))
    primary = np.unique(np.concatenate((host.thread[forward], host.thread[backward], [host.loop])))
    blocked = np.union1d(host.row_of(blocking_calls(host).slice), _blocking_copies(work, device))
    collective, loader = np.flatnonzero(host.of("collective")), starved_waits(host)
    pause = critical_path_facts().inference.handoff_gap_us * 1000
    queued = set(host.thread[dequeue].tolist())
    calls = host.of("operator", "runtime", "collective")
    waiting = _waiting_for_others(host, collective)
    busy = {}
    for thread in np.unique(host.thread[calls]).tolist():
        mine = np.flatnonzero(calls & (host.thread == thread))
        stretch = Intervals(*stretches(host.start[mine], host.end[mine], 0 if thread in queued else pause))
        busy[thread] = difference(stretch, waiting[thread]) if thread in waiting else stretch
    loop_threads = [int(thread) for thread in primary if thread != NONE]
    done = done_at(host, collective, busy, loop_threads)
    begun = _begun_by(host, collective, busy, loop_threads)
    launching = device.work[work.call[device.work] != NONE]
    issue = issued(work)
    points = [
        *((np.full(len(part.start), thread), part.start) for thread, part in busy.items()),
        *((np.full(len(part.end), thread), part.end) for thread, part in busy.items()),
        (work.thread[launching], issue[launching]),
        *((host.thread[part], host.start[part]) for part in (blocked, enqueue, dequeue, collective, loader)),
        *((host.thread[part], host.end[part]) for part in (blocked, collective, loader)),
        (host.thread[collective], done),
        *begun,
        (np.full(len(loop_moments), host.loop), loop_moments),
    ]
    return Threads(
        busy,
        loop_threads,
        blocked,
        enqueue,
        dequeue,
        collective,
        done,
        loader,
        np.concatenate([part[0] for part in points]).astype(np.int64),
        np.concatenate([part[1] for part in points]).astype(np.int64),
    )


def _waiting_for_others(host: Host, collective: Int64s) -> dict[int, Intervals]:
    """When threads waited, inside operators, for collectives that other threads of the host carry out."""
    if not len(collective):
        return {}
    return host.by_thread(host.of_category("collective") & ~host.of("collective"))


def _begun_by(
    host: Host, collective: Int64s, busy: dict[int, Intervals], primary: list[int]
) -> list[tuple[Int64s, Int64s]]:
    """Points on threads that were at work when another one began a collective: they had come so far, and went on."""
    before = host.start[collective[~np.isin(host.thread[collective], primary)]] - 1
    begun = [(thread, before[busy[thread].contains(before)]) for thread in primary if thread in busy]
    return [(np.full(len(times), thread), times) for thread, times in begun]


def _placed(host: Host, arrows: pl.DataFrame) -> tuple[Int64s, Int64s]:
    source, target = (host.row_of(arrows[name].to_numpy()) for name in ("from_slice", "to_slice"))
    both = (source != NONE) & (target != NONE)
    return source[both], target[both]


def _blocking_copies(work: Launched, device: Device) -> Int64s:
    """Calls that copy to pageable memory and return when that is done."""
    pattern = critical_path_facts().copies.blocking
    names = work.name[device.work].cast(pl.String)
    chosen = device.work[names.str.contains(pattern).fill_null(False).to_numpy()]
    return np.unique(work.call[chosen][work.call[chosen] != NONE])


def host_edges(work: Launched, device: Device, nodes: Nodes, threads: Threads, waits: RecordedWaits) -> Edges:
    """All edges that end at a point on the host."""
    thread, time, node = nodes.point_thread, nodes.point_time, nodes.point
    first = np.concatenate(([True], thread[1:] != thread[:-1])) if len(thread) else np.empty(0, np.bool_)
    begin = int(nodes.time[0])
    before_time = np.where(first, begin, np.roll(time, 1)) if len(time) else time
    before_node = np.where(first, 0, np.roll(node, 1)) if len(node) else node
    idle = np.ones(len(time), np.bool_)
    for own, busy in threads.busy.items():
        mine = nodes.of_thread(own)
        idle[mine] = ~busy.contains(before_time[mine])
    queued = _queue_edges(work.host, nodes, threads)
    handed = _handoffs(nodes, threads, work.host, idle & ~np.isin(node, queued[1]), before_time)
    synced = _sync_edges(work, device, nodes, threads, waits)
    held = held_by_full_queue(work, device, nodes)
    released = (
        nodes.start[held.slice],
        node[held.point],
        np.zeros(len(held.point), np.int64),
        kinds.FULL_QUEUE,
        thread[held.point],
    )
    delivered = loader_edges(work.host, nodes, threads.loader)
    # Where somebody else let a thread go on, the time until then was waiting and no work of its own.
    waited = np.isin(node, np.concatenate((synced[1], delivered.target))) | (
        idle & np.isin(node, np.concatenate((queued[1], handed[1])))
    )
    floor = np.where(waited, 0, time - before_time)
    floor[held.point] = np.minimum(floor[held.point], held.own_ns)
    return together(
        edges([(before_node, node, floor, kinds.HOST, thread), queued, handed, synced, released]), delivered
    )


_Part = tuple[Int64s, Int64s, Int64s, int, Int64s]


def _queue_edges(host: Host, nodes: Nodes, threads: Threads) -> _Part:
    """A task is taken from a queue after it was put there."""
    begin, last = int(nodes.time[0]), int(nodes.time[-1])
    enqueued, dequeued = host.start[threads.enqueue], host.start[threads.dequeue]
    inside = (enqueued > begin) & (dequeued > begin) & (enqueued <= last) & (dequeued <= last)
    enqueue, dequeue = threads.enqueue[inside], threads.dequeue[inside]
    source = nodes.at(host.thread[enqueue], host.start[enqueue])
    target = nodes.at(host.thread[dequeue], host.start[dequeue])
    return source, target, np.zeros(len(source), np.int64), kinds.QUEUE, host.slice[dequeue]


def _handoffs(nodes: Nodes, threads: Threads, host: Host, idle: Bools, before_time: Int64s) -> _Part:
    """A thread that did nothing went on when another one that works with it had come so far."""
    thread, time, node = nodes.point_thread, nodes.point_time, nodes.point
    from_primary = np.isin(thread, threads.primary)
    ended = nodes_at(nodes, host.thread[threads.collective], threads.done)
    from_collective = np.isin(node, ended) & ~from_primary
    sources, targets, about = [], [], []
    for own in np.unique(thread[idle]).tolist():
        asking = np.flatnonzero(idle & (thread == own))
        allowed = from_primary & (thread != own)
        if own in threads.primary:
            allowed |= from_collective & (thread != own)
        others = np.flatnonzero(allowed)
        others = others[np.argsort(time[others], kind="stable")]
        index = np.searchsorted(time[others], time[asking], side="left") - 1
        there = index >= 0
        there[there] = time[others[index[there]]] > before_time[asking[there]]
        giver = others[index[there]]
        sources.append(node[giver])
        targets.append(node[asking[there]])
        about.append(thread[giver])
    nothing = [np.empty(0, np.int64)]
    source, target, giving = (np.concatenate(part or nothing) for part in (sources, targets, about))
    return source, target, np.zeros(len(source), np.int64), kinds.HANDOFF, giving


def nodes_at(nodes: Nodes, thread: Int64s, time: Int64s) -> Int64s:
    """Nodes of points, without those outside the window."""
    inside = (time > nodes.time[0]) & (time <= nodes.time[-1])
    return nodes.at(thread[inside], time[inside])


def _sync_edges(work: Launched, device: Device, nodes: Nodes, threads: Threads, waits: RecordedWaits) -> _Part:
    """A blocking call returns when what it waits for has ended: of what was launched before it, the last to end."""
    host = work.host
    by_end = np.argsort(device.end, kind="stable")
    ends, call = device.end[by_end], work.call_start[device.work][by_end]
    track, caller = device.track[by_end], work.call[device.work][by_end]
    stream = dict(zip(waits.synced_call.tolist(), waits.synced_track.tolist(), strict=True))
    begin, last = int(nodes.time[0]), int(nodes.time[-1])
    sources, calls = [], []
    for waiting in threads.blocked.tolist():
        start, end = int(host.start[waiting]), int(host.end[waiting])
        if not begin < end <= last:
            continue
        low, high = np.searchsorted(ends, [start, end], side="right")
        awaited = (call[low:high] < start) | (caller[low:high] == waiting)
        own = stream.get(int(host.slice[waiting]))
        if own is not None:
            awaited &= track[low:high] == own
        awaited_rows = np.flatnonzero(awaited)
        if len(awaited_rows):
            sources.append(by_end[low + awaited_rows[-1]])
            calls.append(waiting)
    source, blocked = np.array(sources, np.int64), np.array(calls, np.int64)
    target = nodes.at(host.thread[blocked], host.end[blocked])
    return nodes.end[source], target, np.zeros(len(source), np.int64), kinds.SYNC, host.slice[blocked]
