"""What each rank would take for itself if ranks of a stage, and all stages, were alike (docs/metrics/cluster.md)."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.slowdown.call_replay import OwnTimes
from stepscope.analysis.cluster.slowdown.event_windows import Events, EventWindows
from stepscope.analysis.cluster.slowdown.rank_chain import STARTS, STARTS_BEHIND
from stepscope.arrays import Float64s, Int32s, Int64s
from stepscope.facts.training_operations import training_operations_facts

# Fewer steps do not show how a rank varies from step to step.
_FEWEST_STEPS: Final = 3


class IdealTimes:
    """Own time up to each call as that of the peers in the same step; stages compute alike.

    The n-th call of a rank in a step belongs to the n-th of its peers, where they have as many.
    """

    def __init__(self, windows: EventWindows, stage: Int32s) -> None:
        self._stage = stage
        computed = pl.concat([_computed(events, stage) for events in windows.windows()])
        self._slower = _always_slower(computed.sort("rank", maintain_order=True))
        of_rank = np.zeros(len(stage))
        for events in windows.windows():
            for of_stage in self._by_stage(events):
                pieces = _Pieces(events[of_stage])
                np.add.at(of_rank, pieces.rank, self._usual_busy(pieces))
        mean = np.bincount(stage, of_rank) / np.maximum(np.bincount(stage), 1)
        self._even = mean[np.unique(stage)].mean() / mean

    def __call__(self, events: Events) -> OwnTimes:
        times = OwnTimes(np.empty(len(events), np.int64), np.empty(len(events), np.int64))
        for of_stage in self._by_stage(events):
            times.busy[of_stage], times.gap[of_stage] = self._of_stage(events[of_stage])
        return times

    def _by_stage(self, events: Events) -> list[Int64s]:
        stage = self._stage[events["rank"]]
        return [np.flatnonzero(stage == each) for each in np.unique(stage)]

    def _of_stage(self, events: Events) -> tuple[Int64s, Int64s]:
        pieces = _Pieces(events)
        usual_busy = self._usual_busy(pieces) * self._even[self._stage[pieces.rank]]
        busy = _scaled(events["busy"], pieces, pieces.busy, usual_busy)
        gap = _scaled(events["gap"], pieces, pieces.gap, _medians(_alike(pieces), pieces.gap))
        return busy, np.where(events["kind"] == STARTS_BEHIND, events["gap"], gap)

    def _usual_busy(self, pieces: _Pieces) -> Float64s:
        return _means(_alike(pieces), pieces.busy / self._slower[pieces.rank])


def _alike(pieces: _Pieces) -> Int64s:
    """The same number for pieces of ranks of one stage that belong to each other."""
    return _numbered(pieces.step, pieces.count, pieces.number)


class _Pieces:
    """A rank's own time up to each of its calls, one after the other: events up to a start are one piece."""

    def __init__(self, events: Events) -> None:
        rank, step, kind = (events[name] for name in ("rank", "step", "kind"))
        starts = np.isin(kind, (STARTS, STARTS_BEHIND))
        new_step = np.ones(len(starts), np.bool_)
        new_step[1:] = (rank[1:] != rank[:-1]) | (step[1:] != step[:-1])
        new = new_step.copy()
        new[1:] |= starts[:-1]
        self.first: Int64s = np.flatnonzero(new)
        self.rank, self.step = rank[self.first], step[self.first]
        self._first_of_step = np.flatnonzero(new_step[self.first])
        of_step = np.diff(np.append(self._first_of_step, len(self.first)))
        self.count = np.repeat(of_step, of_step)  # of pieces in the same step of the rank
        self.number = np.arange(len(self.first)) - np.repeat(self._first_of_step, of_step)
        self.busy = self._sum(events["busy"])
        self.gap = self._sum(np.where(kind == STARTS_BEHIND, 0, events["gap"]))
        self.events = np.diff(np.append(self.first, len(starts)))  # of each piece

    def _sum(self, of_events: Int64s) -> Int64s:
        return np.asarray(np.add.reduceat(of_events, self.first) if len(self.first) else of_events, np.int64)


def _computed(events: Events, stage: Int32s) -> pl.DataFrame:
    """``busy`` of each rank and step."""
    rank, step = events["rank"], events["step"]
    first = np.flatnonzero(np.concatenate(([True], (rank[1:] != rank[:-1]) | (step[1:] != step[:-1]))))
    busy = np.add.reduceat(events["busy"], first)
    return pl.DataFrame({"rank": rank[first], "stage": stage[rank[first]], "step": step[first], "busy": busy})


def _scaled(times: Int64s, pieces: _Pieces, recorded: Int64s, usual: Float64s) -> Int64s:
    """Times of events, scaled so that each piece takes as long as usual."""
    factor: Float64s = np.divide(usual, recorded, out=np.ones(len(recorded)), where=recorded > 0)
    return np.asarray(np.rint(times * np.repeat(factor, pieces.events)), np.int64)


def _numbered(*keys: Int64s | Int32s) -> Int64s:
    """The same number for rows with the same keys."""
    whole = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        low = int(key.min(initial=0))
        whole = whole * (int(key.max(initial=0)) - low + 1) + (key - low)
    return np.asarray(np.unique(whole, return_inverse=True)[1], np.int64)


def _means(number: Int64s, values: Float64s) -> Float64s:
    """The mean of all values with the same number, for each of them."""
    return (np.bincount(number, values) / np.maximum(np.bincount(number), 1))[number]


def _medians(number: Int64s, values: Int64s) -> Float64s:
    """The median of all values with the same number, for each of them.

    >>> _medians(np.array([0, 1, 0, 0, 1]), np.array([9, 4, 1, 2, 5])).tolist()
    [2.0, 4.5, 2.0, 2.0, 4.5]
    """
    ordered = values[np.lexsort((values, number))]
    count = np.bincount(number)
    first = np.cumsum(count) - count
    return np.asarray(((ordered[first + (count - 1) // 2] + ordered[first + count // 2]) / 2)[number], np.float64)


def _always_slower(computed: pl.DataFrame) -> Float64s:
    """How much slower than its peers each rank computes (a factor), if that holds in every step; else 1.

    Work that falls on another rank in each step would be shared out evenly in an ideal job: its mean stays. Only what a
    rank always takes longer is its own, and is removed in an ideal job.
    """
    ratio = pl.col("busy") / pl.col("busy").median().over("stage", "step")
    of_rank = (
        computed.with_columns(ratio=ratio.fill_nan(1.0))
        .group_by("rank")
        .agg(slower=pl.col("ratio").median(), spread=pl.col("ratio").std(), steps=pl.len())
    )
    steady = (pl.col("slower") - 1).abs() > training_operations_facts().slowdown.steady_spreads * pl.col("spread")
    known = (pl.col("steps") < _FEWEST_STEPS) | steady.fill_null(False)
    slower = pl.when(known & (pl.col("slower") > 0)).then("slower").otherwise(1.0)
    return np.asarray(of_rank.sort("rank").select(slower).to_series().to_numpy(), np.float64)
