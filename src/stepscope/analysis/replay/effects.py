"""What each change does to the weights of a replay: a function per subject.

All give the nanoseconds, over all steps, that took what they change; 0 says that there is nothing of that kind.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.blocking_calls import blocking_calls
from stepscope.analysis.foundation.data_waits import data_waits
from stepscope.analysis.foundation.host_activity import CATEGORIES, NONE
from stepscope.analysis.foundation.idle import GC, HOST, SYNC, idle_of
from stepscope.analysis.foundation.intervals import Intervals, joined, union
from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE
from stepscope.analysis.pipeline import pipeline
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.changes import Change
from stepscope.analysis.replay.names import operators_of
from stepscope.analysis.replay.rank_graph import RankGraph
from stepscope.analysis.replay.weights import DELAYS, Weights
from stepscope.arrays import Bools, Int64s
from stepscope.errors import NoAnswerError
from stepscope.facts.launches import launches_facts
from stepscope.facts.replay import replay_facts
from stepscope.store.run_store import RunStore

#: Causes of idle time that are the host's.
_LATE: Final = [HOST, SYNC, GC]
#: Categories of the host's activity that are not its own work: it waits in them, or they can be changed by themselves.
_NOT_ITS_OWN: Final = ("data_loading", "gc", "compile", "collective", "sync")
_PROFILER: Final = "profiler"


def data(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Waits for batches, on the host and on the device, and the pace of a loader that works beside the training."""
    part = weights.replay.part(part_index)
    if change.word == "next":
        weights.least[part_index] = np.maximum(weights.least[part_index], _next_pace_ns(store, part.rank))
    paced = weights.edges(part_index, (edge_kinds.DATA,))
    if change.factor == 0:
        weights.drop(paced)
    else:
        weights.scale(paced, change.factor)
    on_host = weights.scale_host(part_index, _within(part, _of_category(part, "data_loading")), change.factor)
    waits = data_waits(store, part.rank)
    waiting = union(waits["start_ns"].to_numpy(), waits["end_ns"].to_numpy())
    pattern = "|".join(launches_facts().get_next.patterns)
    takes = part.work.name.cast(pl.String).str.contains(pattern).fill_null(False).to_numpy()
    on_device = weights.scale_work(part_index, part.work.slice[takes], change.factor)
    return on_host + on_device + weights.scale_delays(part_index, waiting, change.factor)


def _next_pace_ns(store: RunStore, rank: int) -> int:
    """How long a step takes at least when the slowest stage of the input pipeline is mended; 0 where none is next."""
    try:
        verdicts = pipeline(store, ranks=[rank]).data.verdicts
    except NoAnswerError:
        return 0
    known = [each for each in verdicts if each.potential_speedup and each.period_us and each.limited_by != "training"]
    return max((round(1000 * (each.period_us or 0) / (each.potential_speedup or 1)) for each in known), default=0)


def sync(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Blocking calls. With 0 they no longer wait for the device, else they return so much sooner behind it."""
    del store
    part = weights.replay.part(part_index)
    waited = weights.edges(part_index, (edge_kinds.SYNC,))
    lag = len(waited) and weights.took(waited) + 1  # a call that returns at once has waited, too
    calls = part.host.row_of(blocking_calls(part.host).slice)
    if change.factor == 0:
        weights.drop(waited)
    else:
        weights.scale(waited, change.factor)
    chosen = np.zeros(len(part.host.slice), np.bool_)
    chosen[calls] = True
    return lag + weights.scale_host(part_index, _within(part, chosen), change.factor)


def of_host_category(name: str) -> Callable[[RunStore, Weights, int, Change], int]:
    """A change of one category of the host's activity."""

    def effect(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
        del store
        part = weights.replay.part(part_index)
        within = _within(part, _of_category(part, name))
        if name == "gc":  # it holds the interpreter, whoever called it
            every = union(*(part.host.start[_of_category(part, name)], part.host.end[_of_category(part, name)]))
            within = dict.fromkeys(np.unique(part.host.thread).tolist(), every)
        return weights.scale_host(part_index, within, change.factor)

    return effect


def copies(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Copies and sets of memory on the device."""
    del store
    return weights.scale(weights.edges(part_index, (edge_kinds.COPY,)), change.factor)


def layout(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Kernels that only bring tensors into another form."""
    part = weights.replay.part(part_index)
    pattern = "|".join(replay_facts().layout.patterns)
    matches = np.zeros(len(part.work.slice), np.bool_)
    for names in (part.work.name, part.work.type, operators_of(store, part)):
        matches |= names.cast(pl.String).str.contains(pattern).fill_null(False).to_numpy()
    return weights.scale_work(part_index, part.work.slice[matches & part.work.of(COMPUTE)], change.factor)


def host(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """What threads of the host do themselves: Python, dispatching, launching; no waiting."""
    del store
    part = weights.replay.part(part_index)
    edges = weights.edges(part_index, (edge_kinds.HOST,))
    own = _own_work(weights, part_index, part, edges)
    weights.weight[edges] += np.rint(own * (change.factor - 1)).astype(np.int64)
    between = weights.edges(part_index, (edge_kinds.HANDOFF, edge_kinds.QUEUE))
    weights.scale(between, change.factor)
    return int(own.sum())


def communication(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Transfers: other than waiting for a late member, which stays. Overlapped, they only have to fit into the step."""
    del store
    edges = weights.edges(part_index, (edge_kinds.COMMUNICATION, edge_kinds.MEMBERS))
    if change.word == "overlapped":
        least = _transfers_per_step(weights, part_index)
        weights.least[part_index] = np.maximum(weights.least[part_index], least)
    return weights.scale(edges, change.factor)


def unknown(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Pauses of the device that nothing recorded explains, down to what is usual between two slices."""
    del store
    usual = launches_facts().idle.between_kernels_us * 1000
    edges = weights.edges(part_index, DELAYS)
    long_ones = edges[weights.weight[edges] > usual]
    beyond = weights.weight[long_ones] - usual
    weights.weight[long_ones] = usual + np.rint(beyond * change.factor).astype(np.int64)
    return int(beyond.sum())


def compute(weights: Weights, part_index: int, factor: float) -> int:
    """All that a rank computes; without a device, its operators."""
    part = weights.replay.part(part_index)
    if not part.on_device:
        return weights.scale_host(part_index, _within(part, part.host.of("operator")), factor)
    return weights.scale(weights.edges(part_index, (edge_kinds.COMPUTE,)), factor)


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
    waits = data_waits(store, part.rank)
    for_data = _covered_on_host(
        weights, part_index, _within(part, _of_category(part, "data_loading"), only=part.host.loop)
    )
    on_device = union(waits["start_ns"].to_numpy(), waits["end_ns"].to_numpy())
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
        changed += data(store, weights, part_index, Change("", "data", "", (part.rank,), factor["data"]))
    if factor["host"] < 1:
        changed += _late_host(store, weights, part_index, factor["host"])
    return changed


def _compute_like(weights: Weights, part_index: int, mine: Needs, peers: Sequence[Needs]) -> int:
    """Each step computes as long as the median of the peers in that step, if it takes longer."""
    part = weights.replay.part(part_index)
    if not part.on_device:
        usual = statistics.median(peer.computes for peer in peers)
        return compute(weights, part_index, usual / mine.computes) if mine.computes > usual else 0
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
    return _covered_on_host(weights, part_index, _within(part, part.host.of("operator")))


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


def _own_work(weights: Weights, part_index: int, part: RankGraph, edges: Int64s) -> Int64s:
    """What threads did by themselves in these stretches; on a host that computes, beside its operators."""
    others = np.isin(part.host.category, [CATEGORIES.index(name) for name in _NOT_ITS_OWN])
    if not part.on_device:
        others |= part.host.of("operator")
    # What the profiler itself took is recorded without its thread, so it counts for all of them.
    overhead = part.host.where(_of_category(part, _PROFILER))
    own = np.clip(weights.weight[edges], 0, None)
    thread = weights.replay.graph.about[edges]
    within = _within(part, others)
    for number in np.unique(thread).tolist():
        mine = np.flatnonzero(thread == number)
        not_its_own = joined(within[number], overhead) if number in within else overhead
        own[mine] -= weights.covered(part_index, edges[mine], not_its_own)
    return own


def _of_category(part: RankGraph, name: str) -> Bools:
    chosen: Bools = part.host.category == CATEGORIES.index(name)
    return chosen


def _within(part: RankGraph, chosen: Bools, only: int | None = None) -> dict[int, Intervals]:
    """Per thread when it was in some slices."""
    rows = np.flatnonzero(chosen)
    threads = np.unique(part.host.thread[rows]).tolist() if only is None else [only]
    return {
        thread: union(part.host.start[own], part.host.end[own])
        for thread in threads
        for own in [rows[part.host.thread[rows] == thread]]
    }


def _transfers_per_step(weights: Weights, part_index: int) -> Int64s:
    """How long the busiest stream of a rank transfers in each step."""
    part, periods = weights.replay.part(part_index), weights.replay.periods[part_index]
    rows = np.flatnonzero(part.work.of(COMMUNICATION))
    step = periods.index_of(part.work.step[rows])
    transfers = weights.transfers(part_index)
    lasts = np.array([transfers.get(own, NONE) for own in part.work.slice[rows].tolist()], np.int64)
    lasts = np.where(lasts == NONE, part.work.end[rows] - part.work.start[rows], lasts)
    longest = np.zeros(len(periods.step), np.int64)
    for track in np.unique(part.work.track[rows]):
        mine = (part.work.track[rows] == track) & (step >= 0)
        busy = np.zeros(len(periods.step), np.int64)
        np.add.at(busy, step[mine], lasts[mine])
        longest = np.maximum(longest, busy)
    return longest


OF_CATEGORY: Final[dict[str, Callable[[RunStore, Weights, int, Change], int]]] = {
    "data": data,
    "sync": sync,
    "gc": of_host_category("gc"),
    "compile": of_host_category("compile"),
    "copies": copies,
    "layout": layout,
    "host": host,
    "communication": communication,
    "unknown": unknown,
}
