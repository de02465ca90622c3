"""The cluster's slowdown from the recorded operations of its steps (docs/metrics/cluster.md)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from stepscope.analysis.cluster.slowdown.operation_replay import OperationReplay
from stepscope.analysis.cluster.slowdown.step_operations import Operation, StepOperations
from stepscope.analysis.cluster.slowdown.types import (
    DimensionSlowdown,
    OperationSlowdown,
    RankSlowdown,
    Slowdown,
    StageSlowdown,
)
from stepscope.arrays import Bools, Int64s
from stepscope.facts.training_operations import training_operations_facts

Chosen = Callable[[Operation], Bools | bool]


def slowdown_of(recorded: StepOperations, replay: OperationReplay) -> Slowdown:
    """Replays of all steps, with what is asked about changed."""
    limits = training_operations_facts().slowdown
    own, ideal = replay.own, _ideal(replay.own)
    measured, replayed, best = _measured(recorded), _mean(replay, own), _mean(replay, ideal)

    def only(chosen: Chosen) -> float:
        return _mean(replay, {each: np.where(chosen(each), own[each], ideal[each]) for each in own}) / best

    def explained(chosen: Chosen) -> float | None:
        """The share of the loss that disappears if these have ideal durations; None where the loss is too small."""
        saved = replayed * saved_share(replay, chosen)
        return saved / (replayed - best) if replayed / best >= limits.explained_from else None

    line = np.arange(len(recorded.lines))[:, None]
    of_line = {dp: only(lambda _, place=place: line == place) for place, dp in enumerate(recorded.lines)}  # type: ignore[misc]
    of_stage = {stage: only(lambda each, stage=stage: each.stage == stage) for stage in recorded.stages}  # type: ignore[misc]
    by_rank = [
        RankSlowdown(rank, dp, stage, min(of_line[dp], of_stage[stage]))
        for rank, dp, stage in recorded.ranks.select("rank", "dp", "pp").iter_rows()
    ]
    by_rank.sort(key=lambda each: (-each.slowdown, each.rank))
    worst = by_rank[: max(1, math.floor(limits.worst_workers_share * len(by_rank)))]
    places = {(each.stage, recorded.lines.index(each.dp or 0)) for each in worst}
    names = sorted({each.name for each in own})
    by_operation = [
        OperationSlowdown(name, only(lambda each, name=name: each.name == name))  # type: ignore[misc]
        for name in names
    ]
    return Slowdown(
        total=replayed / best,
        straggling=replayed / best >= limits.straggling_from,
        measured_us=measured / 1000,
        replayed_us=replayed / 1000,
        ideal_us=best / 1000,
        replay_error_share=replay_error_share(recorded, replay),
        by_dimension=[DimensionSlowdown("dp", dp, value) for dp, value in of_line.items()],
        by_stage=[StageSlowdown(stage, value) for stage, value in of_stage.items()],
        by_rank=by_rank,
        by_operation=sorted(by_operation, key=lambda each: (-each.slowdown, each.operation)),
        worst_ranks=[each.rank for each in worst],
        worst_ranks_share=explained(
            lambda each: np.isin(line, [place for stage, place in places if stage == each.stage])
        ),
        last_stage_share=explained(lambda each: each.stage == recorded.stages[-1]),
    )


def saved_share(replay: OperationReplay, chosen: Chosen) -> float:
    """The share of the replayed step that is gone where these operations take as long as all of their name do."""
    own, ideal = replay.own, _ideal(replay.own)
    without = _mean(replay, {each: np.where(chosen(each), ideal[each], own[each]) for each in own})
    return 1 - without / _mean(replay, own)


def replay_error_share(recorded: StepOperations, replay: OperationReplay) -> float:
    """How far the replayed step is from the recorded one."""
    return abs(_measured(recorded) / _mean(replay, replay.own) - 1)


def _ideal(own: dict[Operation, Int64s]) -> dict[Operation, Int64s]:
    """Every operation as all of its name are on average; transfers as they are in the middle, whatever a few do."""
    facts = training_operations_facts().operations
    usual: dict[str, int] = {}
    for name in {each.name for each in own}:
        values = np.concatenate([own[each].ravel() for each in own if each.name == name])
        usual[name] = round(float(np.median(values) if facts[name].kind == "collective" else np.mean(values)))
    return {each: np.full_like(durations, usual[each.name]) for each, durations in own.items()}


def _mean(replay: OperationReplay, durations: dict[Operation, Int64s]) -> float:
    return float(replay.step_ns(durations).mean())


def _measured(recorded: StepOperations) -> float:
    """The mean recorded step: from the first start to the last end of any rank."""
    first = np.minimum.reduce([start.min(axis=0) for start in recorded.start.values()])
    last = np.maximum.reduce([(recorded.start[each] + recorded.duration[each]).max(axis=0) for each in recorded.start])
    return float((last - first).mean())
