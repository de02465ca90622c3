"""A loader that works beside the training delivers batches at its own pace, however fast the training asks for them."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import Host
from stepscope.analysis.foundation.launched import running_reach
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.graph import Edges
from stepscope.analysis.replay.nodes import Nodes
from stepscope.arrays import Int64s
from stepscope.facts.replay import replay_facts


def starved_waits(host: Host) -> Int64s:
    """Rows of the training loop's waits for a loader that works beside it, in time order: those that took long."""
    rows = np.flatnonzero((host.of_category("data_loading")) & (host.thread == host.loop))
    rows = rows[np.lexsort((-host.end[rows], host.start[rows]))]
    rows = rows[host.start[rows] >= running_reach(host.thread[rows], host.end[rows])]
    names = host.name[rows].cast(pl.String).to_list()
    beside = np.array([bool(_beside().search(name or "")) for name in names], np.bool_)
    long_ones = host.end[rows] - host.start[rows] >= replay_facts().loader.least_wait_us * 1000
    return rows[beside & long_ones] if len(rows) else rows


@cache
def _beside() -> re.Pattern[str]:
    return re.compile("|".join(replay_facts().loader.beside))


def loader_edges(host: Host, nodes: Nodes, waits: Int64s) -> Edges:
    """Of two waits for neighbouring batches the second batch was not ready before its time after the first.

    A wait says that the queue was empty, so the loader had worked without a pause since it had delivered the batch
    before. That says nothing where the batch before had been there in time.
    """
    begin, last = int(nodes.time[0]), int(nodes.time[-1])
    start, end = host.start[waits], host.end[waits]
    starts = np.sort(host.start[(host.of_category("data_loading")) & (host.thread == host.loop)])
    batches_between = np.searchsorted(starts, start[1:]) - np.searchsorted(starts, end[:-1])
    pair = np.flatnonzero((batches_between == 0) & (end[:-1] > begin) & (end[1:] <= last)) + 1
    thread = np.full(len(pair), host.loop, np.int64)
    return Edges(
        source=nodes.at(thread, end[pair - 1]),
        target=nodes.at(thread, end[pair]),
        floor=end[pair] - end[pair - 1],
        kind=np.full(len(pair), edge_kinds.DATA, np.int8),
        about=host.slice[waits[pair]],
    )
