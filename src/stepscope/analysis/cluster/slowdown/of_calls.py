"""The cluster's slowdown from the calls of all ranks and their own time between them (docs/metrics/cluster.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from stepscope.analysis.cluster.plan import ParallelPlan
from stepscope.analysis.cluster.slowdown.call_replay import CallReplay, Keeps, Transfers
from stepscope.analysis.cluster.slowdown.call_times import CallTimes
from stepscope.analysis.cluster.slowdown.event_windows import EventWindows
from stepscope.analysis.cluster.slowdown.ideal_times import IdealTimes
from stepscope.analysis.cluster.slowdown.types import (
    DimensionSlowdown,
    OperationSlowdown,
    RankSlowdown,
    Slowdown,
    StageSlowdown,
)
from stepscope.arrays import Bools, Int32s
from stepscope.facts.training_operations import training_operations_facts

#: Own time of ranks, beside which stand the names of calls.
COMPUTE: Final = "compute"
IDLE: Final = "idle"
_LINES: Final = ("dp", "tp", "cp", "ep")
# What is kept of so many calls is told of several replays at once.
_CALLS_AT_ONCE: Final = 1 << 24


@dataclass(frozen=True)
class CallGains:
    """Nanoseconds of the mean step that sets of ranks cost, with the replayed step and how far it is off."""

    replayed_ns: float
    error_share: float
    saved_ns: list[float]


class CallSlowdown:
    """What-if replays of one job."""

    def __init__(self, plan: ParallelPlan, calls: CallTimes, windows: EventWindows) -> None:
        self._plan, self._calls = plan, calls
        self._ranks = list(windows.ranks)
        self._replay = CallReplay(windows)
        self._transfers = Transfers(calls.transfer, calls.usual)
        self._stage = np.array([plan.stage_of(rank) or 0 for rank in self._ranks], np.int32)
        self._ideal = IdealTimes(windows, self._stage)
        self._member, self._member_call = _members(calls, self._ranks)
        # The first step begins wherever each rank was when the window opened.
        self._first = 1 if windows.steps is not None and windows.steps > 1 else 0

    @cached_property
    def possible(self) -> bool:
        """Whether the calls can have happened as they were matched."""
        return self._replay.possible()

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
        at_once = max(_CALLS_AT_ONCE // len(self._calls), 1)
        for first in range(0, len(kept), at_once):
            keeps = Keeps(*(np.stack(column, axis=1) for column in zip(*kept[first : first + at_once], strict=True)))
            steps = self._replay.step_ns(self._ideal, self._transfers, keeps)[:, self._first :]
            means += steps.mean(axis=(0, 1)).tolist()
        return means


def call_slowdown(plan: ParallelPlan, calls: CallTimes | None, windows: EventWindows | None) -> CallSlowdown | None:
    """The replays of a job; None where ranks share no calls or recorded different steps."""
    if calls is None or windows is None or len(windows.ranks) < 2 or windows.steps is None:
        return None
    slowdown = CallSlowdown(plan, calls, windows)
    return slowdown if slowdown.possible else None


def _members(calls: CallTimes, ranks: Sequence[int]) -> tuple[Int32s, Int32s]:
    """Which ranks, by their place, are members of which calls."""
    members, of_calls = [], []
    for block in calls.rows.blocks(list(ranks)):
        rows = calls.rows.of_ranks(block)
        members.append(np.searchsorted(ranks, rows["rank"].to_numpy()).astype(np.int32))
        of_calls.append(rows["call"].to_numpy().astype(np.int32))
    return np.concatenate(members), np.concatenate(of_calls)
