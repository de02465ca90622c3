"""The cluster's slowdown from the calls of all ranks and their own time between them (docs/metrics/cluster.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.call_replay import CallReplay, Durations, Keeps
from stepscope.analysis.cluster.call_times import CallTimes
from stepscope.analysis.cluster.plan import ParallelPlan
from stepscope.analysis.cluster.rank_chain import STARTS, STARTS_BEHIND, RankChain
from stepscope.analysis.cluster.slowdown import (
    DimensionSlowdown,
    OperationSlowdown,
    RankSlowdown,
    Slowdown,
    StageSlowdown,
)
from stepscope.arrays import Bools, Float64s, Int32s, Int64s
from stepscope.facts.training_operations import training_operations_facts
from stepscope.store.freed_memory import give_back

#: Own time of ranks, beside which stand the names of calls.
COMPUTE: Final = "compute"
IDLE: Final = "idle"
_LINES: Final = ("dp", "tp", "cp", "ep")
# Replays side by side, and their calls: memory grows with them, time per replay shrinks.
_AT_ONCE: Final = 16
_CALLS_AT_ONCE: Final = 1 << 22
# Fewer steps do not show how a rank varies from step to step.
_FEWEST_STEPS: Final = 3


@dataclass(frozen=True)
class CallGains:
    """Nanoseconds of the mean step that sets of ranks cost, with the replayed step and how far it is off."""

    replayed_ns: float
    error_share: float
    saved_ns: list[float]


class CallSlowdown:
    """What-if replays of one job."""

    def __init__(self, plan: ParallelPlan, calls: CallTimes, chains: dict[int, RankChain]) -> None:
        self._plan, self._calls = plan, calls
        self._ranks = sorted(chains)
        self._replay = CallReplay(self._ranks, [chains[rank] for rank in self._ranks], len(calls))
        chains.clear()  # as large as the replay that was made of them
        give_back()
        self._recorded = Durations(self._replay.busy, self._replay.gap, calls.transfer)
        self._stage = np.array([plan.stage_of(rank) or 0 for rank in self._ranks], np.int32)
        self._ideal = _ideal(self._replay, self._stage, calls.usual)
        position = {rank: index for index, rank in enumerate(self._ranks)}
        rows = calls.rows.filter(pl.col("rank").is_in(self._ranks)).select("rank", "call")
        self._member = rows["rank"].replace_strict(position, return_dtype=pl.Int32).to_numpy()
        self._member_call = rows["call"].cast(pl.Int32).to_numpy()
        # The first step begins wherever each rank was when the window opened.
        self._first = 1 if self._replay.steps > 1 else 0

    @property
    def possible(self) -> bool:
        """Whether the calls can have happened as they were matched."""
        return self._replay.possible

    def slowdown(self) -> Slowdown:
        """All of it; the error of the replay is part of the answer."""
        limits = training_operations_facts().slowdown
        everybody, nobody = np.ones(len(self._ranks), np.bool_), np.zeros(len(self._ranks), np.bool_)
        lines = self._lines()
        stages = sorted(set(self._stage.tolist()))
        names = [COMPUTE, IDLE, *sorted(set(self._calls.operation))]
        kept = [self._of_ranks(everybody), self._of_ranks(nobody)]
        kept += [self._of_ranks(chosen) for _, _, chosen in lines]
        kept += [self._of_ranks(self._stage == stage) for stage in stages]  # alone they are the whole job
        kept += [self._of_operation(name) for name in names]
        replayed, best, *rest = self._mean_ns(kept)
        of_line = dict(zip([line[:2] for line in lines], rest, strict=False))
        of_stage = dict(zip(stages, rest[len(lines) :], strict=False))
        of_name = dict(zip(names, rest[len(lines) + len(stages) :], strict=True))
        by_rank = self._by_rank({key: value / best for key, value in of_line.items()}, of_stage, best)
        worst = [each.rank for each in by_rank[: max(1, math.floor(limits.worst_workers_share * len(by_rank)))]]
        without = [np.isin(self._ranks, worst), self._stage == stages[-1]]
        lost = replayed - best
        worth_it = replayed / best >= limits.explained_from
        shares = [
            (replayed - value) / lost if worth_it else None
            for value in self._mean_ns([self._without(chosen) for chosen in without])
        ]
        measured = self._measured_ns()
        by_operation = [OperationSlowdown(name, value / best) for name, value in of_name.items()]
        return Slowdown(
            total=replayed / best,
            straggling=replayed / best >= limits.straggling_from,
            measured_us=measured / 1000,
            replayed_us=replayed / 1000,
            ideal_us=best / 1000,
            replay_error_share=abs(measured / replayed - 1),
            by_dimension=[DimensionSlowdown(name, index, value / best) for (name, index), value in of_line.items()],
            by_stage=[StageSlowdown(stage, value / best) for stage, value in of_stage.items() if len(of_stage) > 1],
            by_rank=by_rank,
            by_operation=sorted(by_operation, key=lambda each: (-each.slowdown, each.operation)),
            worst_ranks=worst,
            worst_ranks_share=shares[0],
            last_stage_share=shares[1] if len(stages) > 1 else None,
        )

    def gains(self, removed: Sequence[Sequence[int]]) -> CallGains:
        """What a step would save if the ranks of each set took what their peers take, one set after the other."""
        everybody = self._of_ranks(np.ones(len(self._ranks), np.bool_))
        replayed, *without = self._mean_ns(
            [everybody, *(self._without(np.isin(self._ranks, list(ranks))) for ranks in removed)]
        )
        error = abs(self._measured_ns() / replayed - 1)
        return CallGains(replayed, error, [replayed - step_ns for step_ns in without])

    def _measured_ns(self) -> float:
        """The mean recorded step."""
        return float(self._replay.recorded[:, self._first :].mean())

    def _lines(self) -> list[tuple[str, int, Bools]]:
        """Ranks by their index in each dimension that is split, less pipeline stages."""
        return [
            (name, index, np.isin(self._ranks, ranks))
            for name in _LINES
            for index, ranks in self._plan.lines(name).items()
            if self._plan.size(name) > 1
        ]

    def _by_rank(
        self, of_line: dict[tuple[str, int], float], of_stage: dict[int, float], best: float
    ) -> list[RankSlowdown]:
        """A rank explains no more than each of its lines and its stage do."""
        rows = []
        several = len(of_stage) > 1
        for rank in self._ranks:
            own = self._plan.of_rank[rank]
            known = [(name, index) for name in _LINES if (index := own.coordinate(name)) is not None]
            explained = [of_line[key] for key in known if key in of_line]
            explained += [of_stage[own.pp or 0] / best] if several or not explained else []
            rows.append(RankSlowdown(rank, own.dp, own.pp, min(explained)))
        return sorted(rows, key=lambda each: (-each.slowdown, each.rank))

    def _of_ranks(self, chosen: Bools) -> tuple[Bools, Bools, Bools]:
        """Only these ranks keep their own time, and calls among them alone their transfer."""
        outside = np.zeros(len(self._calls), np.bool_)
        outside[self._member_call[~chosen[self._member]]] = True
        return chosen, chosen, ~outside

    def _without(self, chosen: Bools) -> tuple[Bools, Bools, Bools]:
        """All keep what they took but these ranks."""
        inside = self._of_ranks(chosen)[2]
        return ~chosen, ~chosen, ~inside

    def _of_operation(self, name: str) -> tuple[Bools, Bools, Bools]:
        compute, idle = (np.full(len(self._ranks), name == each) for each in (COMPUTE, IDLE))
        return compute, idle, (self._calls.operation == name).to_numpy()

    def _mean_ns(self, kept: Sequence[tuple[Bools, Bools, Bools]]) -> list[float]:
        """The mean step of each replay, over ranks and steps."""
        means: list[float] = []
        at_once = min(_AT_ONCE, max(_CALLS_AT_ONCE // len(self._calls), 1))
        for first in range(0, len(kept), at_once):
            part = kept[first : first + at_once]
            keeps = Keeps(*(np.stack(column, axis=1) for column in zip(*part, strict=True)))
            steps = self._replay.step_ns(self._recorded, self._ideal, keeps)[:, self._first :]
            means += steps.mean(axis=(0, 1)).tolist()
        return means


def call_slowdown(plan: ParallelPlan, calls: CallTimes | None, chains: dict[int, RankChain]) -> CallSlowdown | None:
    """The replays of a job; None where ranks share no calls or recorded different steps.

    ``chains`` are used up.
    """
    steps = {tuple(chain.steps.tolist()) for chain in chains.values()}
    if calls is None or len(chains) < 2 or len(steps) != 1:
        return None
    slowdown = CallSlowdown(plan, calls, chains)
    return slowdown if slowdown.possible else None


def _ideal(replay: CallReplay, stage: Int32s, transfer: Int64s) -> Durations:
    """Own time up to each call as that of the peers in the same step; stages compute alike.

    The n-th call of a rank in a step belongs to the n-th of its peers, where they have as many.
    """
    pieces = _Pieces(replay)
    own_stage = stage[pieces.rank]
    alike = _numbered(own_stage, pieces.step, pieces.count, pieces.number)
    slower = _always_slower(pieces.computed(stage))[pieces.rank]
    usual_busy = _means(alike, pieces.busy / slower)
    of_rank = np.bincount(pieces.rank, usual_busy, len(stage))
    of_stage = np.bincount(stage, of_rank) / np.maximum(np.bincount(stage), 1)
    even = of_stage[np.unique(stage)].mean() / of_stage[own_stage]
    busy = _scaled(replay.busy, pieces, pieces.busy, usual_busy * even)
    gap = _scaled(replay.gap, pieces, pieces.gap, _medians(alike, pieces.gap))
    return Durations(busy, np.where(replay.kind == STARTS_BEHIND, replay.gap, gap), transfer)


class _Pieces:
    """A rank's own time up to each of its calls, one after the other: events up to a start are one piece."""

    def __init__(self, replay: CallReplay) -> None:
        starts = np.isin(replay.kind, (STARTS, STARTS_BEHIND))
        new_step = np.ones(len(starts), np.bool_)
        new_step[1:] = (replay.rank[1:] != replay.rank[:-1]) | (replay.step[1:] != replay.step[:-1])
        new = new_step.copy()
        new[1:] |= starts[:-1]
        self.first: Int64s = np.flatnonzero(new)
        self.rank, self.step = replay.rank[self.first], replay.step[self.first]
        self._first_of_step = np.flatnonzero(new_step[self.first])
        of_step = np.diff(np.append(self._first_of_step, len(self.first)))
        self.count = np.repeat(of_step, of_step)  # of pieces in the same step of the rank
        self.number = np.arange(len(self.first)) - np.repeat(self._first_of_step, of_step)
        self.busy = self._sum(replay.busy)
        self.gap = self._sum(np.where(replay.kind == STARTS_BEHIND, 0, replay.gap))
        self.events = np.diff(np.append(self.first, len(starts)))  # of each piece

    def computed(self, stage: Int32s) -> pl.DataFrame:
        """``busy`` of each rank and step."""
        first = self._first_of_step
        busy = np.add.reduceat(self.busy, first) if len(first) else self.busy
        rank = self.rank[first]
        return pl.DataFrame({"rank": rank, "stage": stage[rank], "step": self.step[first], "busy": busy})

    def _sum(self, of_events: Int64s) -> Int64s:
        return np.asarray(np.add.reduceat(of_events, self.first) if len(self.first) else of_events, np.int64)


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
