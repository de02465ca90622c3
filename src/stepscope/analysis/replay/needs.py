"""What a rank needs in a replay, and a rank that needs no more than its peers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from stepscope.analysis.foundation.data_waits import waiting_for_data
from stepscope.analysis.foundation.idle import GC, HOST, SYNC, idle_of
from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.work import COMPUTE
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.changes import Change
from stepscope.analysis.replay.effects import change_computing, change_data
from stepscope.analysis.replay.rank_graph import RankGraph
from stepscope.analysis.replay.weights import DELAYS, Weights
from stepscope.store.run_store import RunStore

#: Causes of idle time that are the host's.
_LATE: Final = [HOST, SYNC, GC]


@dataclass(frozen=True)
class Needs:
    """What a rank needs: nanoseconds per step that it waits for data, and its device for its host; its computing."""

    data: float
    host: float
    computes: int  # of a host that computes by itself
    computes_in_step: dict[int, int]  # else of the kernels of each step


def needs_of(store: RunStore, weights: Weights, part_index: int) -> Needs:
    """With the weights as they are now."""
    part = weights.replay.part(part_index)
    steps = len(weights.replay.periods[part_index].step)
    loads = part.host.of_category("data_loading") & (part.host.thread == part.host.loop)
    for_data = _covered_on_host(weights, part_index, part.host.by_thread(loads))
    on_device = waiting_for_data(store, part.rank)
    for_data += int(weights.covered(part_index, weights.edges(part_index, DELAYS), on_device).sum())
    return Needs(
        data=for_data / steps,
        host=late_host_ns(store, part.rank) / steps,
        computes=0 if part.on_device else _computes(weights, part_index, part),
        computes_in_step=_compute_per_step(part) if part.on_device else {},
    )


def like_its_peers(store: RunStore, weights: Weights, part_index: int, peers: Sequence[Needs]) -> int:
    """A rank computes, waits for data and works on its host as long as the median of its peers, if it takes longer."""
    changed = 0
    part, mine = weights.replay.part(part_index), needs_of(store, weights, part_index)
    usual = {
        "data": statistics.median(peer.data for peer in peers),
        "host": statistics.median(peer.host for peer in peers),
    }
    own = {"data": mine.data, "host": mine.host}
    factor = {name: min(usual[name] / needed, 1.0) if needed > 0 else 1.0 for name, needed in own.items()}
    changed += _compute_like(weights, part_index, mine, peers)
    if factor["data"] < 1:
        changed += change_data(store, weights, part_index, Change("", "data", "", (part.rank,), factor["data"]))
    if factor["host"] < 1:
        changed += _late_host(store, weights, part_index, factor["host"])
    return changed


def _compute_like(weights: Weights, part_index: int, mine: Needs, peers: Sequence[Needs]) -> int:
    """Each step computes as long as the median of the peers in that step, if it takes longer."""
    part = weights.replay.part(part_index)
    if not part.on_device:
        usual = statistics.median(peer.computes for peer in peers)
        return change_computing(weights, part_index, usual / mine.computes) if mine.computes > usual else 0
    changed = 0
    for step, took in mine.computes_in_step.items():
        others = [peer.computes_in_step[step] for peer in peers if step in peer.computes_in_step]
        usual = statistics.median(others) if others else took
        if took > usual:
            slices = part.work.slice[part.work.step == step]
            changed += weights.scale_work(part_index, slices, usual / took, (edge_kinds.COMPUTE,))
    return changed


def _compute_per_step(part: RankGraph) -> dict[int, int]:
    """Nanoseconds that the kernels of a rank take, by step."""
    work = part.work
    rows = np.flatnonzero(work.of(COMPUTE) & (work.step >= 0))
    steps, number = np.unique(work.step[rows], return_inverse=True)
    total = np.zeros(len(steps), np.int64)
    np.add.at(total, number, work.end[rows] - work.start[rows])
    return dict(zip(steps.tolist(), total.tolist(), strict=True))


def _computes(weights: Weights, part_index: int, part: RankGraph) -> int:
    """Nanoseconds that operators of a host take that computes by itself."""
    return _covered_on_host(weights, part_index, part.host.by_thread(part.host.of("operator")))


@cached_summary_per_rank
def late_host_ns(store: RunStore, rank: int) -> int:
    """How long the device of a rank was idle because its host was late, over all steps."""
    return int(idle_of(store, rank).gaps.cause[:, _LATE].sum())


def _late_host(store: RunStore, weights: Weights, part_index: int, factor: float) -> int:
    """What the host did while the device waited for it, on whatever thread: they hand over to each other."""
    part = weights.replay.part(part_index)
    gaps = idle_of(store, part.rank).gaps
    late = gaps.cause[:, _LATE].sum(axis=1) > 0
    waiting = union(gaps.start[late], gaps.end[late])
    threads = dict.fromkeys(np.unique(part.host.thread).tolist(), waiting)
    return weights.scale_host(part_index, threads, factor) + weights.scale_handovers(part_index, waiting, factor)


def _covered_on_host(weights: Weights, part_index: int, within: dict[int, Intervals]) -> int:
    edges = weights.edges(part_index, (edge_kinds.HOST,))
    thread = weights.replay.graph.about[edges]
    return sum(int(weights.covered(part_index, edges[thread == own], part).sum()) for own, part in within.items())
