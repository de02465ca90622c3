"""What rules may ask about a run. Each answer is computed once, when it is first needed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import polars as pl

from stepscope.analysis.cluster.calls.costs import CallCosts, CallCostsBuilder, exposed_transfers
from stepscope.analysis.cluster.expert_time import expert_times
from stepscope.analysis.cluster.job_calls import JobCalls, job_calls
from stepscope.analysis.cluster.plan import ParallelPlan, plan_of
from stepscope.analysis.cluster.waiting.delays import delays_of
from stepscope.analysis.foundation.computing_time import computing_of as computing_intervals_of
from stepscope.analysis.foundation.data_waits import data_waits
from stepscope.analysis.foundation.dispatch_time import dispatch_time
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.work import does_work_on_device
from stepscope.analysis.launches import whole_rank_launches
from stepscope.analysis.replay.needs import late_host_ns
from stepscope.analysis.steps import remarks_of_rank, steps_of_rank
from stepscope.analysis.summary import outside_steps
from stepscope.diagnosis.measures.computing import Computing, computing_of
from stepscope.diagnosis.measures.dispatching import Dispatching, dispatching_of
from stepscope.diagnosis.measures.own_time import OwnTime, own_times
from stepscope.diagnosis.measures.rank_time import RankTime, rank_times
from stepscope.diagnosis.measures.slow_members import SlowMember, slow_members
from stepscope.diagnosis.measures.stages import Stages, stages_of
from stepscope.errors import NoAnswerError
from stepscope.facts.findings import finding_facts
from stepscope.questions.registry import QUESTIONS
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

#: Splits whose calls stand between the operators of a layer.
_WITHIN_LAYERS: Final = ("tp", "cp", "ep")


class RunContext:
    """An opened run and the answers that have been computed so far."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self._answers: dict[str, Any] = {}
        self._by_rank: dict[tuple[str, str], dict[int, list[Any]]] = {}

    def answer(self, question: str) -> Any | None:
        """The data of the answer to a question; None where this run has no answer to it."""
        if question not in self._answers:
            try:
                self._answers[question] = QUESTIONS[question].ask(self.store, ranks=None).data
            except NoAnswerError:
                self._answers[question] = None
        return self._answers[question]

    def entries(self, question: str, part: str, rank: int) -> list[Any]:
        """The entries of one rank in a list of an answer; none where there is no answer."""
        if (question, part) not in self._by_rank:
            index = self._by_rank[question, part] = {}
            for entry in getattr(self.answer(question), part, ()):
                index.setdefault(entry.rank, []).append(entry)
        return self._by_rank[question, part].get(rank, [])

    @cached_property
    def notes(self) -> list[Note]:
        """What was dropped, repaired or missing when the run was read."""
        return self.store.notes()

    @property
    def ranks(self) -> list[int]:
        """Numbers of the ranks that were captured."""
        return sorted(self.store.ranks)

    @cached_property
    def waits_name_peers(self) -> bool:
        """Whether waits name the peer waited for, so that ranks without files can be judged too."""
        waits = self.store.scan("transfers").filter(
            (pl.col("kind").cast(pl.String) == "wait") & pl.col("peer").is_not_null()
        )
        return not waits.head(1).collect().is_empty()

    @cached_property
    def links_recorded(self) -> bool:
        """Whether transfers were recorded link by link."""
        moved = self.store.scan("transfers").filter(pl.col("kind").cast(pl.String) == "payload")
        return not moved.head(1).collect().is_empty()

    @cached_property
    def times(self) -> dict[int, RankTime]:
        """The mean step of each rank and how it divides; only ranks of which that is known."""
        for rank in self.ranks:
            _visit(self.store, rank)
        return rank_times(self.answer("summary"), self.answer("steps"))

    @property
    def mean_period_us(self) -> float:
        """The mean step over the ranks of ``times``; 0 where there are none."""
        return statistics.fmean(time.period_us for time in self.times.values()) if self.times else 0.0

    @cached_property
    def computing(self) -> dict[int, Computing]:
        """What each rank computes in its counted steps; only ranks of which that was recorded."""
        every = {rank: computing_of(self.store, time) for rank, time in self.times.items()}
        return {rank: computing for rank, computing in every.items() if computing is not None}

    def judges_arithmetic_of(self, rank: int) -> bool:
        """Whether FLOPs are counted for this rank: of a large job some ranks stand for all, as that takes long."""
        return rank in sorted(self.computing)[: finding_facts().lists.most_ranks_counted]

    def device_kind(self, rank: int) -> str | None:
        """What kind of device a rank computes on."""
        return self._device_kinds.get(rank)

    @cached_property
    def _device_kinds(self) -> dict[int, str | None]:
        rows = self.store.scan("ranks").select("rank", pl.col("device_kind").cast(pl.String)).collect()
        return dict(rows.iter_rows())

    @cached_property
    def delays(self) -> dict[int, list[float]]:
        """Microseconds by which each rank held up its peers, in each of its counted steps; of matched calls only."""
        steps = {rank: set(time.steps) for rank, time in self.times.items()}
        by_rank: dict[int, list[float]] = {}
        late = self.job_calls.late
        for block in late.blocks(self.ranks):
            for rank, step, delay_ns in delays_of(late.of_ranks(block)).iter_rows():
                if step in steps.get(rank, ()):
                    by_rank.setdefault(rank, []).append(delay_ns / 1000)
        return by_rank

    def waits_for(self, rank: int) -> pl.DataFrame:
        """Every wait of others for a rank in communication."""
        return self.job_calls.waits.where(pl.col("blames") == rank).sort("rank", "start_ns", "slice")

    def lateness(self, rank: int, others: Sequence[int]) -> float:
        """Microseconds per step by which a rank held up its peers.

        Where it is not recorded which calls belong together: how much less than its peers it communicates.
        """
        if rank in self.delays:
            return statistics.fmean(self.delays[rank])
        usual = statistics.median(self.times[other].communicating_us for other in others)
        return usual - self.times[rank].communicating_us

    @cached_property
    def own_times(self) -> dict[int, OwnTime]:
        """The time of its own that each rank needs in each step."""
        return own_times(self.answer("steps"), self.times)

    @cached_property
    def dispatching(self) -> dict[int, Dispatching]:
        """How long the host of each rank launches per step; only ranks of which launches were recorded."""
        every = {rank: dispatching_of(self, time) for rank, time in self.times.items()}
        return {rank: dispatching for rank, dispatching in every.items() if dispatching is not None}

    @cached_property
    def expert_times(self) -> dict[int, list[float]]:
        """Microseconds that each rank computed for its experts, in the steps of ``own_times``."""
        by_rank: dict[int, dict[int, float]] = {}
        for rank, step, expert_ns in expert_times(self.store).iter_rows():
            by_rank.setdefault(rank, {})[step] = expert_ns / 1000
        return {
            rank: [by_rank[rank].get(step, 0.0) for step in own.steps]
            for rank, own in self.own_times.items()
            if rank in by_rank
        }

    @cached_property
    def stages(self) -> Stages | None:
        """Stages of the pipeline, where there are several and they are known."""
        return stages_of(self)

    @cached_property
    def host_of(self) -> dict[int, str]:
        """The host of each rank, where it is known."""
        return {rank: host for host, ranks in self.plan.hosts.items() for rank in ranks}

    @cached_property
    def plan(self) -> ParallelPlan:
        """How the job is split over its ranks."""
        return plan_of(self.store)

    @cached_property
    def group_ranks(self) -> dict[str, list[int]]:
        """Members of each group, as stated or as seen in calls."""
        rows = self.store.scan("groups").select(pl.col("group").cast(pl.String), "ranks").drop_nulls().collect()
        stated = dict(rows.iter_rows())
        callers = self.calls.per_rank(lambda calls: calls.select("group", "rank").unique())
        seen = callers.group_by("group").agg(pl.col("rank").sort()).drop_nulls()
        return dict(seen.iter_rows()) | stated

    @cached_property
    def slow_members(self) -> list[SlowMember]:
        """Hosts and ranks that are slower than their peers."""
        return slow_members(self)

    @cached_property
    def calls(self) -> CallCosts:
        """What each matched call cost its members, in counted steps."""
        return self._matched[1]

    @property
    def job_calls(self) -> JobCalls:
        """All matched calls: their times, who waited for whom, who was late."""
        return self._matched[0]

    @cached_property
    def _matched(self) -> tuple[JobCalls, CallCosts]:
        """Both in one round: calls are matched some steps at a time, and those of many ranks are not held together."""
        counted = pl.DataFrame(
            [(rank, step) for rank, time in self.times.items() for step in time.steps],
            schema={"rank": pl.Int32, "step": pl.Int64},
            orient="row",
        )
        costs = CallCostsBuilder(self.store, self.plan, counted)
        calls = job_calls(self.store, self.plan, costs.add)
        return calls, costs.finished()

    @cached_property
    def exposed_transfers(self) -> dict[int, float]:
        """Microseconds per mean step in which a rank moved data and did not compute.

        Of ranks only all of whose calls are known of all members: else waiting could be taken for moving.
        """

        def of_complete(calls: pl.DataFrame) -> pl.DataFrame:
            whole = calls.filter(pl.col("complete"))
            exposed = exposed_transfers(self.store, whole).group_by("rank").agg(pl.col("exposed_ns").sum())
            return exposed.join(whole.group_by("rank").len("known"), on="rank")

        in_steps = self.store.scan("collectives").filter(pl.col("step").is_not_null())
        made = dict(in_steps.group_by("rank").len().collect().iter_rows())
        all_steps = dict(self.store.scan("steps").group_by("rank").len().collect().iter_rows())
        times = {}
        for rank, exposed_ns, known in self.calls.per_rank(of_complete).iter_rows():
            time = self.times[rank]
            expected = made.get(rank, 0) * len(time.steps) / max(all_steps.get(rank, 1), 1)
            if known >= finding_facts().exposed_communication.least_share_of_calls * expected:
                times[rank] = exposed_ns / 1000 / len(time.steps)
        return times

    @cached_property
    def exposed_within_layers(self) -> dict[int, float]:
        """Of the exposed transfers of a rank those that a layer cannot go on without, in microseconds per mean step."""
        within = pl.col("complete") & pl.col("dimension").is_in(_WITHIN_LAYERS)
        exposed = self.calls.per_rank(
            lambda calls: calls.filter(within).group_by("rank").agg(pl.col("exposed_transfer_ns").sum() / 1000)
        )
        return {rank: us / len(self.times[rank].steps) for rank, us in exposed.iter_rows()}

    @cached_property
    def recorded_waiting(self) -> dict[int, float]:
        """How much of the time of its collectives nothing was sent or reduced, per rank whose capture tells."""
        working = pl.col("transit_ns") + pl.col("reduce_ns").fill_null(0)
        rows = (
            self.store.scan("collectives")
            .filter(pl.col("transit_ns").is_not_null() & pl.col("step").is_not_null())
            .group_by("rank")
            .agg(working=working.sum(), whole=(pl.col("end_ns") - pl.col("start_ns")).sum())
            .collect()
        )
        return {rank: max(1 - working / whole, 0.0) for rank, working, whole in rows.iter_rows() if whole}


def _visit(store: RunStore, rank: int) -> None:
    """Work out at once what rules will ask of each rank: its slices are in memory now, and not those of all ranks."""
    if not step_marks(store, rank).is_empty():
        steps_of_rank(store, rank)
        remarks_of_rank(store, rank)
        outside_steps(store, rank)
        computing_intervals_of(store, rank)
        data_waits(store, rank)
        does_work_on_device(store, rank)
        whole_rank_launches(store, rank)
        late_host_ns(store, rank)
        dispatch_time(store, rank)
