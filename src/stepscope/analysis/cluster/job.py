"""A job as a whole, worked out once and kept with the store: the questions ``ranks`` and ``cluster`` show it."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import polars as pl

from stepscope.analysis.cluster.call_slowdown import CallSlowdown, call_slowdown
from stepscope.analysis.cluster.call_times import CallTimes, call_times
from stepscope.analysis.cluster.delays import delays
from stepscope.analysis.cluster.matched_calls import matched_calls
from stepscope.analysis.cluster.paired_calls import paired_calls
from stepscope.analysis.cluster.plan import ParallelPlan, plan_of
from stepscope.analysis.cluster.rank_chain import rank_chain
from stepscope.analysis.cluster.rank_rows import Blame, RankRow, rank_rows
from stepscope.analysis.cluster.replay import replay_of
from stepscope.analysis.cluster.roots import roots
from stepscope.analysis.cluster.slowdown import Slowdown, slowdown_of
from stepscope.analysis.cluster.step_operations import step_operations
from stepscope.analysis.cluster.waits import waits
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.kept import kept
from stepscope.analysis.step_statistics import typical
from stepscope.analysis.steps import steps_of_rank
from stepscope.facts.training_operations import training_operations_facts
from stepscope.store.freed_memory import give_back
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

_MADE_FROM: Final = ("analysis", "facts")
#: What is held of all calls while the ranks are visited.
_BLAMED: Final = ("call", "rank", "slice", "step", "arrival_ns", "end_ns", "wait_ns", "last_rank", "late_ns")


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
    several = len(plan.ranks) > 1
    matched, paired = (matched_calls(store), paired_calls(store)) if several else (None, None)
    calls = None
    if matched is not None and paired is not None:
        calls = call_times(store, plan, matched, paired)
        matched, paired = matched.select(_BLAMED), paired.select(_BLAMED)
    trace, replay = _visited(store, plan, calls)
    slowdown, said = _slowdown(store, several, replay)
    del calls, replay  # as large as all that follows
    give_back()
    blame = None
    if matched is not None and paired is not None and trace is not None:
        blame = _blame(store, trace, matched, paired)
    return Job(rank_rows(store, plan, trace, blame), slowdown, said)


def replay_of_calls(store: RunStore, matched: pl.DataFrame, paired: pl.DataFrame) -> CallSlowdown | None:
    """What-if replays of a job of any size, from its calls; None where ranks share no calls."""
    plan = plan_of(store)
    return _visited(store, plan, call_times(store, plan, matched, paired))[1]


def _visited(
    store: RunStore, plan: ParallelPlan, calls: CallTimes | None
) -> tuple[pl.DataFrame | None, CallSlowdown | None]:
    """The steps of all ranks, and the replay of their calls: each rank is looked at once."""
    steps, chains = [], {}
    for each in plan.ranks:
        rows, _ = steps_of_rank(store, each.rank)
        if rows is None:
            continue
        steps.append(rows)
        if calls is not None and (chain := rank_chain(store, each.rank, calls.of_rank(each.rank))) is not None:
            chains[each.rank] = chain
    trace = pl.concat(steps) if steps else None
    steps.clear()
    return trace, call_slowdown(plan, calls, chains)


def _slowdown(store: RunStore, several: bool, replay: CallSlowdown | None) -> tuple[Slowdown | None, list[Remark]]:
    """From the recorded operations of a step, else from calls; None where the replay is too far off."""
    recorded = step_operations(store)
    of_operations = None if recorded is None else replay_of(recorded)
    if recorded is not None and of_operations is not None:
        slowdown = slowdown_of(recorded, of_operations)
    elif replay is not None:
        slowdown = replay.slowdown()
    else:
        return None, [Remark("no_replay" if several else "replay_needs_ranks", {})]
    if slowdown.replay_error_share > training_operations_facts().slowdown.most_replay_error_share:
        return None, [Remark("replay_misses", {"share": f"{100 * slowdown.replay_error_share:.1f}"})]
    return slowdown, []


def _blame(store: RunStore, trace: pl.DataFrame, matched: pl.DataFrame, paired: pl.DataFrame) -> Blame:
    """Waits and delays in the steps that count."""
    counted = typical(trace).select("rank", "step")
    waited = waits(store, matched, paired).rows
    parts = roots(store, waited).rename({"wait_ns": "part_ns"}).with_columns(pl.col("wait").cast(pl.UInt32))
    in_step = waited.with_row_index("wait").join(counted, on=["rank", "step"], how="semi")
    caused = parts.join(in_step.select("wait"), on="wait", how="semi").group_by("root").agg(pl.col("part_ns").sum())
    late = delays(store, matched).join(counted, on=["rank", "step"], how="semi").group_by("rank")
    return Blame(
        waited=_time_waited(in_step),
        in_pipeline=_time_waited(in_step.join(paired.select("rank", "slice"), on=["rank", "slice"], how="semi")),
        caused=_by_rank(caused),
        late=_by_rank(late.agg(pl.col("delay_ns").sum())),
    )


def _time_waited(waited: pl.DataFrame) -> dict[int, float]:
    """Time of each rank in which it waited, however many calls were under way."""
    spans = {}
    for (rank,), own in waited.group_by("rank"):
        start = own["start_ns"].to_numpy()
        spans[int(str(rank))] = float(union(start, start + own["wait_ns"].to_numpy()).length)
    return spans


def _by_rank(rows: pl.DataFrame) -> dict[int, Any]:
    return dict(rows.iter_rows())
