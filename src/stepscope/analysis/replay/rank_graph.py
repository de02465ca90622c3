"""What one rank did within a window, as a graph: its host threads, its streams, and what they wait for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepscope.analysis.foundation.host_activity import Host, host_of
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.launched import Launched, launched_of
from stepscope.analysis.foundation.rank_tables import links_of
from stepscope.analysis.foundation.work import Work
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.device_edges import device_edges, issued
from stepscope.analysis.replay.graph import Edges, Graph, graph_of, together
from stepscope.analysis.replay.host_edges import Threads, host_edges, threads_of
from stepscope.analysis.replay.nodes import Device, Nodes, device_of, nodes_of
from stepscope.analysis.replay.recorded_waits import recorded_waits
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class RankGraph:
    """A window of a rank: its moments, and the dependencies between them."""

    rank: int
    nodes: Nodes
    edges: Edges
    threads: Threads
    device: Device
    host: Host
    work: Launched
    on_device: bool
    launches_known: bool  # of any work of the rank; what a full queue held up was launched before the window
    waits_known: bool
    inferred_waits: int

    @cached_property
    def graph(self) -> Graph:
        """The graph of this rank alone."""
        return graph_of(self.nodes.time, self.edges, unexplained=edge_kinds.UNEXPLAINED)

    @property
    def tells(self) -> bool:
        """Whether anything was recorded that a path could lead through."""
        return bool(len(self.work.slice) or self.host.of("operator", "runtime", "collective").any())

    def loop_nodes(self, moment: Int64s) -> Int64s:
        """Nodes of moments of the training loop that were asked for; the beginning where they lie before it."""
        begin = int(self.nodes.time[0])
        known = np.clip(moment, begin, None)
        node = np.zeros(len(moment), np.int64)
        later = np.flatnonzero(known > begin)
        node[later] = self.nodes.at(np.full(len(later), self.host.loop, np.int64), known[later])
        return node

    def sink(self, step: int, end: int) -> int:
        """The end of a step's last device slice, which ends its period; of a stall or without a device, on the host."""
        own = np.flatnonzero((self.work.step[self.device.work] == step) & (self.device.end == end))
        if len(own):
            return int(self.nodes.end[own].max())
        return int(self.loop_nodes(np.array([end]))[0])


def rank_graph(
    store: RunStore, rank: int, work: Work, window: tuple[int, int], loop_moments: Int64s | None = None
) -> RankGraph:
    """The graph of a window. ``loop_moments`` of the training loop become nodes; the end of the window always does."""
    host = host_of(store, rank, windows=union(np.array([window[0]]), np.array([window[1]])))
    launched = launched_of(store, rank, host, work, window)
    device = device_of(launched, window)
    waits = recorded_waits(store, rank, window)
    end = np.array([window[1]])
    moments = end if loop_moments is None else np.concatenate((loop_moments, end))
    threads = threads_of(store, rank, launched, device, moments)
    nodes = nodes_of(window, threads.point_thread, threads.point_time, device, issued(launched)[device.work])
    on_device, inferred = device_edges(launched, device, nodes, waits)
    on_host = host_edges(launched, device, nodes, threads, waits)
    return RankGraph(
        rank=rank,
        nodes=nodes,
        edges=together(on_host, on_device),
        threads=threads,
        device=device,
        host=host,
        work=launched,
        on_device=work.on_device,
        launches_known=bool((links_of(store, rank)["kind"] == "launch").any()),
        waits_known=waits.known,
        inferred_waits=inferred,
    )
