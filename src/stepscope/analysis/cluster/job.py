"""A job as a whole, worked out once and kept with the store: the questions ``ranks`` and ``cluster`` show it."""

from __future__ import annotations

from typing import Final

import msgspec
import polars as pl

from stepscope.analysis.cluster.blame import blame_of
from stepscope.analysis.cluster.job_calls import job_calls
from stepscope.analysis.cluster.plan import ParallelPlan, plan_of
from stepscope.analysis.cluster.rank_rows import RankRow, rank_rows
from stepscope.analysis.cluster.slowdown.call_times import CallTimes, chain_calls
from stepscope.analysis.cluster.slowdown.event_windows import EventWindows
from stepscope.analysis.cluster.slowdown.of_calls import CallSlowdown, call_slowdown
from stepscope.analysis.cluster.slowdown.of_operations import slowdown_of
from stepscope.analysis.cluster.slowdown.operation_replay import replay_of
from stepscope.analysis.cluster.slowdown.rank_chain import rank_chain
from stepscope.analysis.cluster.slowdown.step_operations import step_operations
from stepscope.analysis.cluster.slowdown.types import Slowdown
from stepscope.analysis.foundation.kept import kept
from stepscope.analysis.steps import steps_of_rank
from stepscope.facts.training_operations import training_operations_facts
from stepscope.store.freed_memory import give_back
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

_MADE_FROM: Final = ("analysis", "facts")
_NO_CALLS: Final = pl.DataFrame(schema=dict.fromkeys(("call", "arrival_ns", "end_ns", "stream"), pl.Int64))


class Remark(msgspec.Struct, frozen=True):
    """A note, as it is kept."""

    code: str
    params: dict[str, str]


class Job(msgspec.Struct, frozen=True):
    """Rows of all ranks, and the slowdown where a replay comes close to the recorded steps."""

    ranks: list[RankRow]
    slowdown: Slowdown | None
    said: list[Remark]

    def remarks(self) -> list[Note]:
        """What could not be determined, and why."""
        return [Note(each.code, dict(each.params)) for each in self.said]


def job_of(store: RunStore) -> Job:
    """The job of a run: the kept one if it still holds."""
    return kept(store, "cluster", Job, _MADE_FROM, _work_out)


def _work_out(store: RunStore) -> Job:
    plan = plan_of(store)
    recorded = _slowdown_of_operations(store)
    if len(plan.ranks) < 2:
        trace, _ = _visited(store, plan, None)
        return Job(rank_rows(store, plan, trace, None), *_judged(recorded, several=False))
    calls = job_calls(store, plan)
    trace, replay = _visited(store, plan, calls.times if recorded is None else None)
    slowdown, said = _judged(replay.slowdown() if recorded is None and replay is not None else recorded, several=True)
    del replay
    give_back()
    return Job(rank_rows(store, plan, trace, None if trace is None else blame_of(store, trace, calls)), slowdown, said)


def replay_of_calls(store: RunStore, calls: CallTimes | None) -> CallSlowdown | None:
    """What-if replays of a job of any size, from its calls; None where ranks share no calls."""
    return _visited(store, plan_of(store), calls)[1]


def _visited(
    store: RunStore, plan: ParallelPlan, calls: CallTimes | None
) -> tuple[pl.DataFrame | None, CallSlowdown | None]:
    """The steps of all ranks, and the replay of their calls: each rank is looked at once."""
    steps: list[pl.DataFrame] = []
    windows = None if calls is None else EventWindows(len(calls))
    ranks = [each.rank for each in plan.ranks]
    for block in [ranks] if calls is None else calls.rows.blocks(ranks):
        rows = None if calls is None else calls.rows.of_ranks(block).partition_by("rank", as_dict=True)
        for rank in block:
            of_rank, _ = steps_of_rank(store, rank)
            if of_rank is None:
                continue
            steps.append(of_rank)
            if rows is not None and windows is not None:
                chain = rank_chain(store, rank, chain_calls(rows.get((rank,), _NO_CALLS)))
                if chain is not None:
                    windows.add(rank, chain)
    trace = pl.concat(steps) if steps else None
    return trace, call_slowdown(plan, calls, windows)


def _slowdown_of_operations(store: RunStore) -> Slowdown | None:
    """From the recorded operations of a step: where these exist, calls need not be replayed."""
    recorded = step_operations(store)
    replay = None if recorded is None else replay_of(recorded)
    return None if recorded is None or replay is None else slowdown_of(recorded, replay)


def _judged(slowdown: Slowdown | None, *, several: bool) -> tuple[Slowdown | None, list[Remark]]:
    """None where there was no replay, or one that is too far off."""
    if slowdown is None:
        return None, [Remark("no_replay" if several else "replay_needs_ranks", {})]
    if slowdown.replay_error_share > training_operations_facts().slowdown.most_replay_error_share:
        return None, [Remark("replay_misses", {"share": f"{100 * slowdown.replay_error_share:.1f}"})]
    return slowdown, []
