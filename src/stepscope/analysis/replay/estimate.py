"""What a replay says about steps: how well it gives them as recorded, and how long they take with something changed.

Ranks that meet are replayed together, if they are not too many; else one after the other, and no more than one is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.data_waits import waiting_for_data
from stepscope.analysis.foundation.periods import periods_of
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.applied import Applied, NeedsOfRanks, Prepared, prepared
from stepscope.analysis.replay.changes import Change
from stepscope.analysis.replay.replay import Replay, joined_replay, replay_of_rank
from stepscope.analysis.replay.weights import Weights
from stepscope.analysis.step_statistics import typical
from stepscope.analysis.steps import steps_of_rank
from stepscope.arrays import Bools, Int64s
from stepscope.errors import StepscopeError
from stepscope.facts.critical_path import critical_path_facts
from stepscope.facts.replay import replay_facts
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class Estimate:
    """A replayed run. ``steps`` has one row per rank and step: rank, step, counted, period_ns, replayed_ns."""

    ranks: list[int]
    joined: bool  # whether ranks wait for each other
    launches_missing: bool
    steps: pl.DataFrame
    error_share: float
    unexplained_share: float
    outcomes: list[_Outcome]

    def changed(self, number: int = 0) -> tuple[pl.DataFrame, list[Applied]]:
        """The steps with ``changed_ns`` after one of the sets of changes, and what each change acted on."""
        outcome = self.outcomes[number]
        applied = outcome.applied(self.ranks)
        steps = self.steps.with_columns(changed_ns=pl.Series(np.concatenate(outcome.times), dtype=pl.Int64))
        return pl.concat(_without_blind_first(own) for own in steps.partition_by("rank", maintain_order=True)), applied


class _Outcome:
    """A set of changes, and what came of it so far: the times of each rank, and what each change found."""

    def __init__(self, store: RunStore, changes: Sequence[Change], ranks: list[int], needs: NeedsOfRanks) -> None:
        self.times: list[Int64s] = []
        self.error: StepscopeError | None = None
        self.changes: list[Prepared] = []
        try:
            self.changes = [prepared(store, change, ranks, needs) for change in changes]
        except StepscopeError as error:
            self.error = error
        self.took = [0] * len(self.changes)

    @property
    def peers(self) -> frozenset[int]:
        """Ranks of whom must be known what they need."""
        return frozenset().union(*(change.peers for change in self.changes))

    def concerns(self, rank: int) -> bool:
        """Whether a change acts on this rank."""
        return any(change.concerns(rank) for change in self.changes)

    def needs(self, rank: int) -> bool:
        """Whether a rank must be replayed to know what the changes do."""
        return self.concerns(rank) or any(rank in change.peers for change in self.changes)

    def times_of(self, replay: Replay) -> list[Int64s]:
        """Per rank of a replay how long its steps take with the changes made, one after the other."""
        weights = Weights(replay)
        for number, change in enumerate(self.changes):
            self.took[number] += change.applied_to(weights)
        return weights.step_times()

    def applied(self, ranks: list[int]) -> list[Applied]:
        """What each change found on all ranks."""
        if self.error is not None:
            raise self.error
        return [change.after(took, ranks) for change, took in zip(self.changes, self.took, strict=True)]


@dataclass
class _Replayed:
    """Per rank the times of its steps: replayed, and without what nothing recorded explains."""

    ranks: list[int]
    times: list[Int64s]
    explained: list[Int64s]
    joined: bool
    launches_missing: bool


def estimate_of(
    store: RunStore, ranks: list[int], variants: Sequence[Sequence[Change]] = (), *, concerned_only: bool = False
) -> Estimate | None:
    """The replay of some ranks, held to what was recorded; None where nothing can be replayed.

    ``variants`` are sets of changes. All are made in the same round over the ranks, each on the steps as recorded.
    With ``concerned_only``, ranks that go one by one are left out if no change and no comparison with peers concerns
    them: nothing of them can change.
    """
    return estimate_from(store, ranks, joined_replay(store, ranks), variants, concerned_only=concerned_only)


def estimate_from(
    store: RunStore,
    ranks: list[int],
    replay: Replay | None,
    variants: Sequence[Sequence[Change]] = (),
    *,
    concerned_only: bool = False,
) -> Estimate | None:
    """The same from a replay of all ranks together that was made before; without one they go one by one."""
    needs = NeedsOfRanks(store)
    outcomes = [_Outcome(store, changes, ranks, needs) for changes in variants]
    if replay is None and concerned_only:
        ranks = [rank for rank in ranks if any(outcome.needs(rank) for outcome in outcomes)]
    replayed = _one_by_one(store, ranks, outcomes, needs) if replay is None else _together(store, replay, outcomes)
    if not replayed.ranks:
        return None
    recorded = _recorded(store, replayed.ranks)
    steps = recorded.with_columns(replayed_ns=pl.Series(np.concatenate(replayed.times), dtype=pl.Int64))
    counted = steps["counted"].to_numpy()
    period, times = (steps[name].to_numpy()[counted] for name in ("period_ns", "replayed_ns"))
    error = float(np.abs(times - period).sum() / max(int(period.sum()), 1))
    explained = np.concatenate(replayed.explained)[counted]
    unexplained = float(1 - explained.sum() / max(int(times.sum()), 1))
    return Estimate(
        replayed.ranks, replayed.joined, replayed.launches_missing, steps, error, max(unexplained, 0.0), outcomes
    )


def _together(store: RunStore, replay: Replay, outcomes: Sequence[_Outcome]) -> _Replayed:
    explained = _explained(store, replay).step_times()
    for outcome in outcomes:
        outcome.times = outcome.times_of(replay)
    return _Replayed(replay.ranks, replay.step_times(), explained, True, replay.launches_missing)


def _one_by_one(store: RunStore, ranks: list[int], outcomes: Sequence[_Outcome], needs: NeedsOfRanks) -> _Replayed:
    """Changes that compare a rank with its peers are made when what all of them need is known."""
    replayed = _Replayed([], [], [], False, False)
    peers = frozenset().union(*(outcome.peers for outcome in outcomes))
    for rank in ranks:
        replay = replay_of_rank(store, rank)
        if replay is None:
            continue
        replayed.ranks.append(rank)
        replayed.times += (own := replay.step_times())
        replayed.explained += _explained(store, replay).step_times()
        replayed.launches_missing |= replay.launches_missing
        if rank in peers:
            needs.learn(Weights(replay), 0)
        for outcome in outcomes:
            at_once = not outcome.peers and outcome.concerns(rank)
            outcome.times += outcome.times_of(replay) if at_once else own
    for outcome in outcomes:
        for position, rank in enumerate(replayed.ranks if outcome.peers else ()):
            if outcome.concerns(rank):
                again = replay_of_rank(store, rank)
                assert again is not None  # as it was before
                outcome.times[position : position + 1] = outcome.times_of(again)
    return replayed


def _without_blind_first(steps: pl.DataFrame) -> pl.DataFrame:
    """The steps of a rank; the first does not count where a change acts in all others alike and not in it.

    What made it long then lies before the window: a call that began before recording did.
    """
    gain = (steps["replayed_ns"] - steps["changed_ns"]).to_numpy()
    others, limits = gain[1:][steps["counted"].to_numpy()[1:]], replay_facts().first_step
    if len(others) < limits.least_other_steps:
        return steps
    usual = float(np.median(others))
    alike = usual > 0 and others.min() >= limits.least_share_of_median * usual
    if not alike or gain[0] >= limits.most_share_of_median * usual:
        return steps
    return steps.with_columns(counted=pl.col("counted") & (pl.int_range(pl.len()) > 0))


def _recorded(store: RunStore, ranks: list[int]) -> pl.DataFrame:
    recorded = [rows for rank in ranks if (rows := steps_of_rank(store, rank)[0]) is not None]
    usual = typical(pl.concat(recorded)).select("rank", "step")
    counted = set(usual.iter_rows())
    parts = []
    for rank in ranks:
        periods = periods_of(store, rank)
        steps = periods.step.tolist()
        parts.append(
            pl.DataFrame(
                {
                    "rank": [rank] * len(steps),
                    "step": steps,
                    "counted": [(rank, step) in counted for step in steps],
                    "period_ns": periods.end - periods.start,
                },
                schema={"rank": pl.Int64, "step": pl.Int64, "counted": pl.Boolean, "period_ns": pl.Int64},
            )
        )
    return pl.concat(parts)


def _explained(store: RunStore, replay: Replay) -> Weights:
    """The replay without delays that nothing recorded explains. They stay as they are whatever else is changed."""
    limits = critical_path_facts().overhead
    longest = {
        edge_kinds.LAUNCH: limits.longest_launch_us * 1000,
        edge_kinds.STREAM: limits.longest_kernel_kernel_us * 1000,
        edge_kinds.EVENT: limits.longest_kernel_kernel_us * 1000,
        edge_kinds.UNEXPLAINED: 0,
    }
    weights = Weights(replay)
    for part_index, rank in enumerate(replay.ranks):
        for_data = waiting_for_data(store, rank)
        for kind, most in longest.items():
            edges = weights.edges(part_index, (kind,))
            known: Int64s = weights.covered(part_index, edges, for_data) + most
            weights.weight[edges] = np.minimum(weights.weight[edges], known)
    return weights


def counted_rows(steps: pl.DataFrame) -> Bools:
    """Which rows averages count: those that are typical, all where none is."""
    counted: Bools = steps["counted"].to_numpy()
    return counted if counted.any() else np.ones(len(steps), np.bool_)
