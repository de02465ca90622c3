"""A path as parts in time order: which slice, how long, and what bounds it there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.critical_path import kinds
from stepscope.analysis.foundation.host_activity import Host
from stepscope.analysis.foundation.intervals import expanded, union
from stepscope.analysis.foundation.launched import running_reach
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.rank_graph import RankGraph
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.facts.critical_path import critical_path_facts

_BOUND = {name: number for number, name in enumerate(kinds.BOUNDS)}
_CPU = _BOUND["cpu_bound"]


@dataclass(frozen=True)
class Parts:
    """Parts without gaps between them; ``slice`` is NONE where nothing was recorded."""

    slice: Int64s
    start: Int64s
    end: Int64s
    bound: Int64s


def parts_of(step: RankGraph, path: Int64s) -> Parts:
    """Cut a path into parts. Stretches on a host thread are cut at the calls that the thread carried out then."""
    graph = step.graph
    kind, about = graph.kind[path], graph.about[path]
    start, end = graph.time[graph.source[path]], graph.time[graph.target[path]]
    on_host = np.isin(kind, [edge_kinds.HOST, edge_kinds.HANDOFF])
    bound = np.array([_BOUND[kinds.BOUND_OF_EDGE.get(number, "other")] for number in kind.tolist()], np.int64)
    limits = critical_path_facts().overhead
    longest_us = {"launch": limits.longest_launch_us, "kernel_kernel": limits.longest_kernel_kernel_us}
    for name, longest in longest_us.items():
        held_up = (bound == _BOUND[f"{name}_overhead"]) & (end - start > longest * 1000)
        bound[held_up] = _BOUND["other"]
    pieces = [Parts(about[~on_host], start[~on_host], end[~on_host], bound[~on_host])]
    units = _units(step)
    for thread in np.unique(about[on_host]).tolist():
        mine = on_host & (about == thread)
        pieces.append(_cut(step.host, units, thread, *_merged(start[mine], end[mine])))
    order = np.argsort(np.concatenate([part.start for part in pieces]), kind="stable")
    columns = [
        np.concatenate([getattr(part, name) for part in pieces])[order] for name in ("slice", "start", "end", "bound")
    ]
    keep = columns[2] > columns[1]
    return Parts(*(column[keep] for column in columns))


def _merged(start: Int64s, end: Int64s) -> tuple[Int64s, Int64s]:
    """Stretches that follow each other become one."""
    new = np.concatenate(([True], start[1:] != end[:-1]))
    starts = np.flatnonzero(new)
    return start[starts], end[np.append(starts[1:], len(end)) - 1]


@dataclass(frozen=True)
class _Units:
    """Calls that stand for themselves on a path: outermost ones, which do not overlap on a thread."""

    calls: Int64s
    bound: Int64s


def _units(step: RankGraph) -> _Units:
    host = step.host
    category = np.full(len(host.slice), _CPU, np.int64)
    for name in ("data_loading", "gc"):
        category[host.of_category(name)] = _BOUND[name]
    category[host.of("collective")] = _BOUND["communication"]
    telling = category != _CPU
    calls = host.of("operator", "runtime")
    if not step.on_device:
        # Without an accelerator the operators themselves are the compute.
        category[host.of("operator") & ~telling] = _BOUND["compute"]
    outer = _outermost(host, telling)
    calls[_wrappers(host, calls, int(step.graph.time[-1] - step.graph.time[0]))] = False
    rest = _outermost(host, calls & ~_inside(host, outer))
    units = np.concatenate((outer, rest))
    return _Units(units, category[units])


def _wrappers(host: Host, calls: Bools, window: int) -> Int64s:
    """Long calls most of whose time others take inside them."""
    limits = critical_path_facts().units
    long_calls = np.flatnonzero(calls & (host.end - host.start > limits.wrapper_from_share * window))
    operators = np.flatnonzero(host.of("operator", "collective"))
    wrappers = []
    for call in long_calls.tolist():
        inside = (host.thread[operators] == host.thread[call]) & (host.depth[operators] > host.depth[call])
        inside &= (host.start[operators] >= host.start[call]) & (host.end[operators] <= host.end[call])
        taken = union(host.start[operators[inside]], host.end[operators[inside]]).length
        if taken >= limits.wrapped_from_share * int(host.end[call] - host.start[call]):
            wrappers.append(call)
    return np.array(wrappers, np.int64)


def _outermost(host: Host, chosen: Bools) -> Int64s:
    calls = np.flatnonzero(chosen & (host.end > host.start))
    calls = calls[np.lexsort((-host.end[calls], host.start[calls]))]
    return calls[host.start[calls] >= running_reach(host.thread[calls], host.end[calls])]


def _inside(host: Host, outer: Int64s) -> Bools:
    """Slices that touch one of some slices of their thread: what is left of them is no call of its own."""
    touched = np.zeros(len(host.slice), np.bool_)
    for thread in np.unique(host.thread[outer]).tolist():
        mine = outer[host.thread[outer] == thread]
        asked = np.flatnonzero(host.thread == thread)
        first = np.searchsorted(host.end[mine], host.start[asked], side="right")
        last = np.searchsorted(host.start[mine], host.end[asked], side="left")
        touched[asked] = last > first
    return touched


def _cut(host: Host, units: _Units, thread: int, start: Int64s, end: Int64s) -> Parts:
    """Stretches of a thread, cut into its calls and what lies between them."""
    mine = np.flatnonzero(host.thread[units.calls] == thread)
    mine = mine[np.argsort(host.start[units.calls[mine]], kind="stable")]
    calls = units.calls[mine]
    first = np.searchsorted(host.end[calls], start, side="right")
    last = np.searchsorted(host.start[calls], end, side="left")
    number, stretch = expanded(first, last)
    called_start = np.maximum(host.start[calls[number]], start[stretch])
    called_end = np.minimum(host.end[calls[number]], end[stretch])
    # Between: from the beginning of a stretch or the end of a call to the next call or the end of the stretch.
    open_start = np.concatenate((start, called_end))
    open_stretch = np.concatenate((np.arange(len(start)), stretch))
    order = np.lexsort((open_start, open_stretch))
    open_start, open_stretch = open_start[order], open_stretch[order]
    closes = np.lexsort((np.concatenate((called_start, end)), np.concatenate((stretch, np.arange(len(end))))))
    open_end = np.concatenate((called_start, end))[closes]
    there = open_end > open_start
    open_start, open_end = open_start[there], open_end[there]
    telling = host.dominant([np.full(len(open_start), thread, np.int64)], open_start, open_end)
    return Parts(
        slice=np.concatenate((host.slice[calls[number]], telling)),
        start=np.concatenate((called_start, open_start)),
        end=np.concatenate((called_end, open_end)),
        bound=np.concatenate((units.bound[mine][number], np.full(len(open_start), _CPU, np.int64))),
    )


def names_of(step: RankGraph, slices: Int64s) -> list[str | None]:
    """Names of slices on the host or the device; null where there is none."""
    name_of: list[str | None] = [None] * len(slices)
    order = np.argsort(step.work.slice, kind="stable")
    host_row = step.host.row_of(slices)
    for names, ids, known in (
        (step.host.name, host_row, host_row != NONE),
        (step.work.name, *_on_device(step, slices, order)),
    ):
        words = names[ids[known]].cast(pl.String).to_list()
        for number, word in zip(np.flatnonzero(known).tolist(), words, strict=True):
            name_of[number] = word
    return name_of


def _on_device(step: RankGraph, slices: Int64s, order: Int64s) -> tuple[Int64s, Bools]:
    ids = step.work.slice[order]
    if not len(ids):
        return np.zeros(len(slices), np.int64), np.zeros(len(slices), np.bool_)
    index = np.minimum(np.searchsorted(ids, slices), len(ids) - 1)
    return order[index], ids[index] == slices
