"""Launches into a full queue: the host goes on when the device takes up a slice that makes room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.replay.device_edges import issued
from stepscope.analysis.replay.nodes import Device, Nodes
from stepscope.arrays import NONE, Int64s
from stepscope.facts.launches import launches_facts
from stepscope.facts.replay import replay_facts


@dataclass(frozen=True)
class HeldHost:
    """Points of the host that a full queue held up, and the device slices whose start let them go on."""

    point: Int64s  # positions among the points
    slice: Int64s  # positions among the device slices
    own_ns: int  # what the host usually needs from one launch to the next


def held_by_full_queue(work: Launched, device: Device, nodes: Nodes) -> HeldHost:
    """Where the queue was full, as far as it ever was, and the host stood still until the device took something up."""
    nothing = HeldHost(np.empty(0, np.int64), np.empty(0, np.int64), 0)
    limits, least = launches_facts(), replay_facts().queue
    issue = issued(work)[device.work]
    begin = int(nodes.time[0])
    launched = np.flatnonzero(work.call[device.work] != NONE)
    launched = launched[np.argsort(issue[launched], kind="stable")]
    before = _launched_before(device, launched)
    queued = np.concatenate((before, launched))
    by_start = queued[np.argsort(device.start[queued], kind="stable")]
    started = np.searchsorted(device.start[by_start], issue[launched], side="right")
    waiting = len(before) + np.arange(len(launched)) - started
    longest = int(waiting.max(initial=0))
    if longest < least.full_from_share * limits.queue.full_length and not _is_bounded(waiting):
        return nothing
    # Room is made in the order of launching: what was launched a whole queue ago and starts late, such as a collective
    # on a stream of its own, holds the host up although others behind it have started.
    launched_as = np.empty(len(device.start), np.int64)
    launched_as[queued] = np.arange(len(queued))
    taken_up = by_start[np.maximum(started, 1) - 1]
    since = len(before) + np.arange(len(launched)) - launched_as[taken_up]
    full = np.flatnonzero(
        (np.maximum(waiting, since) >= least.still_full_from_share * longest)
        & (started > 0)
        & (issue[launched] > begin)
    )
    released = taken_up[full]
    thread = work.thread[device.work[launched[full]]]
    pause = np.diff(nodes.point_time, prepend=begin)
    points, slices = [], []
    for own in np.unique(thread).tolist():
        mine, part = thread == own, nodes.of_thread(own)
        times = nodes.point_time[part]
        position = np.searchsorted(times, device.start[released[mine]], side="left")
        there = position < len(times)
        point = part.start + position[there]
        long_ones = pause[point] > limits.statistics.longest_usual_call_us * 1000
        points.append(point[long_ones])
        slices.append(released[mine][there][long_ones])
    if not points:
        return nothing
    point, first = np.unique(np.concatenate(points), return_index=True)
    # Where the queue is full all the time, most launches come at the pace of the device: only the others tell.
    spacing = np.diff(issue[launched])
    spacing = spacing[spacing <= limits.statistics.longest_usual_call_us * 1000]
    usual = int(np.median(spacing)) if len(spacing) else 0
    return HeldHost(point, np.concatenate(slices)[first], usual)


def _is_bounded(waiting: Int64s) -> bool:
    """Whether nearly all launches find as many waiting: a queue of another length, or one that counts larger pieces."""
    least = replay_facts().queue
    longest = int(waiting.max(initial=0))
    if longest < least.least_bounded_length or len(waiting) < longest:
        return False
    return float(np.quantile(waiting, 1 - least.bounded_launches_share)) >= least.full_from_share * longest


def _launched_before(device: Device, launched: Int64s) -> Int64s:
    """Slices without a known launch that start before any with one on their stream: launched before the window."""
    unknown = np.setdiff1d(np.arange(len(device.start)), launched)
    first = np.full(int(device.track.max(initial=0)) + 1, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(first, device.track[launched], device.start[launched])
    return unknown[device.start[unknown] < first[device.track[unknown]]]
