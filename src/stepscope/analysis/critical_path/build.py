"""The dependency graph of one step of one rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.critical_path import kinds
from stepscope.analysis.critical_path.device_edges import device_edges
from stepscope.analysis.critical_path.graph import Edges, Graph, graph_of
from stepscope.analysis.critical_path.host_edges import host_edges, threads_of
from stepscope.analysis.critical_path.nodes import Device, Nodes, device_of, nodes_of
from stepscope.analysis.critical_path.recorded_waits import recorded_waits
from stepscope.analysis.foundation.host_activity import NONE, Host, host_of
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.launched import Launched, launched_of
from stepscope.analysis.foundation.work import Work
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class StepGraph:
    """A step as a graph. ``sink`` is the node at which it ends."""

    graph: Graph
    sink: int
    host: Host
    work: Launched
    on_device: bool
    launches_known: bool
    waits_known: bool
    inferred_waits: int

    @property
    def tells(self) -> bool:
        """Whether anything was recorded that a path could lead through."""
        return bool(len(self.work.slice) or self.host.of("operator", "runtime", "collective").any())

    def scaled(self, slices: Int64s, factor: float) -> Int64s:
        """Weights as they would be if these slices took ``factor`` times as long, for ``Graph.earliest``."""
        graph = self.graph
        weight = graph.weight.copy()
        on_device = np.isin(graph.kind, [kinds.COMPUTE, kinds.COMMUNICATION, kinds.COPY]) & np.isin(graph.about, slices)
        weight[on_device] = np.rint(graph.weight[on_device] * factor).astype(np.int64)
        rows = self.host.row_of(slices)
        rows = rows[rows != NONE]
        for thread in np.unique(self.host.thread[rows]):
            mine = rows[self.host.thread[rows] == thread]
            chosen = union(self.host.start[mine], self.host.end[mine])
            edges = np.flatnonzero((graph.kind == kinds.HOST) & (graph.about == thread) & (graph.weight > 0))
            first, last = graph.time[graph.source[edges]], graph.time[graph.target[edges]]
            covered = np.minimum(chosen.covered_within(first, last), graph.weight[edges])
            weight[edges] += np.rint(covered * (factor - 1)).astype(np.int64)
        return weight


def step_graph(store: RunStore, rank: int, work: Work, step: int, window: tuple[int, int]) -> StepGraph:
    """The graph of a step over its period."""
    host = host_of(store, rank, windows=union(np.array([window[0]]), np.array([window[1]])))
    launched = launched_of(store, rank, host, work, window)
    device = device_of(launched, window)
    waits = recorded_waits(store, rank, window)
    threads = threads_of(store, rank, launched, device, window[1])
    nodes = nodes_of(window, threads.point_thread, threads.point_time, device)
    on_device, inferred = device_edges(launched, device, nodes, waits)
    on_host = host_edges(launched, device, nodes, threads, waits)
    graph = graph_of(nodes.time, _together(on_host, on_device), unexplained=kinds.UNEXPLAINED)
    return StepGraph(
        graph=graph,
        sink=_sink(launched, device, nodes, step, window[1]),
        host=host,
        work=launched,
        on_device=work.on_device,
        launches_known=bool((launched.call != NONE).any()),
        waits_known=waits.known,
        inferred_waits=inferred,
    )


def _sink(work: Launched, device: Device, nodes: Nodes, step: int, end: int) -> int:
    """The end of the step's last device slice, which ends its period; of a stall and without a device, on the host."""
    own = np.flatnonzero((work.step[device.work] == step) & (device.end == end))
    if len(own):
        return int(nodes.end[own].max())
    return int(nodes.at(np.array([work.host.loop]), np.array([end]))[0])


def _together(*parts: Edges) -> Edges:
    names = ("source", "target", "floor", "kind", "about")
    return Edges(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
