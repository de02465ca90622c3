"""Moments of a step that depend on each other: points on host threads, starts and ends of device slices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.launched import Launched
from stepscope.arrays import Bools, Int64s

#: Order of nodes at one moment: what ends lets others go on, and a start makes room in a queue, which lets the host go
#: on, unless the slice is launched at that very moment.
_END, _START, _POINT, _START_AT_LAUNCH = range(4)


@dataclass(frozen=True)
class Device:
    """Device slices within a window, in order of start; ``work`` are their rows in the work of the rank."""

    work: Int64s
    track: Int64s
    start: Int64s
    end: Int64s


@dataclass(frozen=True)
class Nodes:
    """All nodes in time order. Node 0 is the beginning of the window, on the thread of the training loop."""

    time: Int64s
    point_thread: Int64s  # per point, sorted by thread and time
    point_time: Int64s
    point: Int64s  # per point its node
    start: Int64s  # per device slice its two nodes
    end: Int64s

    def at(self, thread: Int64s, time: Int64s) -> Int64s:
        """The nodes of points that are known to exist."""
        return self.point[_position(self.point_thread, self.point_time, thread, time)]

    def of_thread(self, thread: int) -> slice:
        """The points of a thread."""
        low, high = np.searchsorted(self.point_thread, [thread, thread + 1])
        return slice(int(low), int(high))


def nodes_of(window: tuple[int, int], thread: Int64s, time: Int64s, device: Device, issued: Int64s) -> Nodes:
    """Number all moments. Points of a thread at one moment are one; those outside the window are not there.

    ``issued`` is when each device slice was launched.
    """
    inside = (time > window[0]) & (time <= window[1])
    thread, time = thread[inside], time[inside]
    order = np.lexsort((time, thread))
    thread, time = thread[order], time[order]
    new = np.concatenate(([True], (thread[1:] != thread[:-1]) | (time[1:] != time[:-1]))) if len(time) else inside[:0]
    thread, time = thread[new], time[new]
    moments = np.concatenate((device.end, time, device.start))
    starts = np.where(issued == device.start, _START_AT_LAUNCH, _START)
    kind = np.concatenate((np.full(len(device.end), _END), np.full(len(time), _POINT), starts))
    order = np.lexsort((kind, moments))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) + 1
    end_nodes, points, start_nodes = np.split(number, [len(device.end), len(device.end) + len(time)])
    all_times = np.concatenate(([window[0]], moments[order])).astype(np.int64)
    return Nodes(all_times, thread, time, points, start_nodes, end_nodes)


def _position(threads: Int64s, times: Int64s, thread: Int64s, time: Int64s) -> Int64s:
    """Where pairs stand in sorted pairs."""
    positions = np.empty(len(thread), np.int64)
    for own in np.unique(thread):
        mine = thread == own
        low = int(np.searchsorted(threads, own))
        high = int(np.searchsorted(threads, own, side="right"))
        positions[mine] = low + np.searchsorted(times[low:high], time[mine])
    return positions


def device_of(work: Launched, window: tuple[int, int]) -> Device:
    """What the device did within a window; slices that stick out are cut off there."""
    start, end = np.maximum(work.start, window[0]), np.minimum(work.end, window[1])
    rows = np.flatnonzero((end > start) & ~work.on_host)
    return Device(rows, work.track[rows], start[rows], end[rows])


def stretches(start: Int64s, end: Int64s, gap: int) -> tuple[Int64s, Int64s]:
    """Intervals with pauses of at most ``gap`` between them closed.

    >>> [part.tolist() for part in stretches(np.array([0, 12, 40]), np.array([10, 20, 50]), 5)]
    [[0, 40], [20, 50]]
    """
    wider = union(start, end + gap)
    return wider.start, wider.end - gap


def within(start: Int64s, end: Int64s, window: tuple[int, int]) -> Bools:
    """Which intervals touch the window."""
    touches: Bools = (start < window[1]) & (end > window[0])
    return touches
