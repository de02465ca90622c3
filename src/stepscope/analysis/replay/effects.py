"""What each change does to the weights of a replay: a function per subject.

All give the nanoseconds, over all steps, that took what they change; 0 says that there is nothing of that kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.blocking_calls import blocking_calls
from stepscope.analysis.foundation.data_waits import waiting_for_data
from stepscope.analysis.foundation.intervals import joined
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE
from stepscope.analysis.pipeline import pipeline
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.changes import Change
from stepscope.analysis.replay.names import operators_of
from stepscope.analysis.replay.rank_graph import RankGraph
from stepscope.analysis.replay.weights import DELAYS, Weights
from stepscope.arrays import NONE, Int64s
from stepscope.errors import NoAnswerError
from stepscope.facts.launches import launches_facts
from stepscope.facts.replay import replay_facts
from stepscope.store.run_store import RunStore

#: Categories of the host's activity that are not its own work: it waits in them, or they can be changed by themselves.
_NOT_ITS_OWN: Final = ("data_loading", "gc", "compile", "collective", "sync")
_PROFILER: Final = "profiler"


def change_data(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Waits for batches, on the host and on the device, and the pace of a loader that works beside the training."""
    part = weights.replay.part(part_index)
    if change.word == "next":
        weights.least[part_index] = np.maximum(weights.least[part_index], _next_pace_ns(store, part.rank))
    paced = weights.edges(part_index, (edge_kinds.DATA,))
    if change.factor == 0:
        weights.drop(paced)
    else:
        weights.scale(paced, change.factor)
    on_host = weights.scale_host(part_index, part.host.by_thread(part.host.of_category("data_loading")), change.factor)
    waiting = waiting_for_data(store, part.rank)
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


def change_sync(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
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
    return lag + weights.scale_host(part_index, part.host.by_thread(chosen), change.factor)


def change_of_category(name: str) -> Callable[[RunStore, Weights, int, Change], int]:
    """A change of one category of the host's activity."""

    def effect(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
        del store
        part = weights.replay.part(part_index)
        within = part.host.by_thread(part.host.of_category(name))
        if name == "gc":  # it holds the interpreter, whoever called it
            every = part.host.where(part.host.of_category(name))
            within = dict.fromkeys(np.unique(part.host.thread).tolist(), every)
        if not within:
            return 0
        # Another thread may have waited for the end of it: the same time once more.
        handed = weights.scale_handovers(part_index, joined(*within.values()), change.factor)
        return max(weights.scale_host(part_index, within, change.factor), handed)

    return effect


def change_copies(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Copies and sets of memory on the device."""
    del store
    return weights.scale(weights.edges(part_index, (edge_kinds.COPY,)), change.factor)


def change_layout(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Kernels that only bring tensors into another form."""
    part = weights.replay.part(part_index)
    pattern = "|".join(replay_facts().layout.patterns)
    matches = np.zeros(len(part.work.slice), np.bool_)
    for names in (part.work.name, part.work.type, operators_of(store, part)):
        matches |= names.cast(pl.String).str.contains(pattern).fill_null(False).to_numpy()
    return weights.scale_work(part_index, part.work.slice[matches & part.work.of(COMPUTE)], change.factor)


def change_host(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """What threads of the host do themselves: Python, dispatching, launching; no waiting."""
    del store
    part = weights.replay.part(part_index)
    edges = weights.edges(part_index, (edge_kinds.HOST,))
    own = _own_work(weights, part_index, part, edges)
    weights.weight[edges] += np.rint(own * (change.factor - 1)).astype(np.int64)
    between = weights.edges(part_index, (edge_kinds.HANDOFF, edge_kinds.QUEUE))
    weights.scale(between, change.factor)
    return int(own.sum())


def change_communication(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Transfers: other than waiting for a late member, which stays. Overlapped, they only have to fit into the step."""
    del store
    edges = weights.edges(part_index, (edge_kinds.COMMUNICATION, edge_kinds.MEMBERS))
    if change.word == "overlapped":
        least = _transfers_per_step(weights, part_index)
        weights.least[part_index] = np.maximum(weights.least[part_index], least)
    return weights.scale(edges, change.factor)


def change_unknown(store: RunStore, weights: Weights, part_index: int, change: Change) -> int:
    """Pauses of the device that nothing recorded explains, down to what is usual between two slices."""
    del store
    usual = launches_facts().idle.between_kernels_us * 1000
    edges = weights.edges(part_index, DELAYS)
    long_ones = edges[weights.weight[edges] > usual]
    beyond = weights.weight[long_ones] - usual
    weights.weight[long_ones] = usual + np.rint(beyond * change.factor).astype(np.int64)
    return int(beyond.sum())


def change_computing(weights: Weights, part_index: int, factor: float) -> int:
    """All that a rank computes; without a device, its operators."""
    part = weights.replay.part(part_index)
    if not part.on_device:
        return weights.scale_host(part_index, part.host.by_thread(part.host.of("operator")), factor)
    return weights.scale(weights.edges(part_index, (edge_kinds.COMPUTE,)), factor)


def _own_work(weights: Weights, part_index: int, part: RankGraph, edges: Int64s) -> Int64s:
    """What threads did by themselves in these stretches; on a host that computes, beside its operators."""
    others = part.host.of_category(*_NOT_ITS_OWN)
    if not part.on_device:
        others |= part.host.of("operator")
    # What the profiler itself took is recorded without its thread, so it counts for all of them.
    overhead = part.host.where(part.host.of_category(_PROFILER))
    own = np.clip(weights.weight[edges], 0, None)
    thread = weights.replay.graph.about[edges]
    within = part.host.by_thread(others)
    for number in np.unique(thread).tolist():
        mine = np.flatnonzero(thread == number)
        not_its_own = joined(within[number], overhead) if number in within else overhead
        own[mine] -= weights.covered(part_index, edges[mine], not_its_own)
    return own


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
    "data": change_data,
    "sync": change_sync,
    "gc": change_of_category("gc"),
    "compile": change_of_category("compile"),
    "copies": change_copies,
    "layout": change_layout,
    "host": change_host,
    "communication": change_communication,
    "unknown": change_unknown,
}
