"""What a replay says about steps: how well it gives them as recorded, and how long they take with something changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.data_waits import data_waits
from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.replay import edge_kinds
from stepscope.analysis.replay.applied import Applied, apply_changes
from stepscope.analysis.replay.changes import Change
from stepscope.analysis.replay.replay import Replay, replay_of
from stepscope.analysis.replay.weights import Weights
from stepscope.analysis.step_statistics import typical
from stepscope.analysis.steps import steps_of_rank
from stepscope.arrays import Bools, Int64s
from stepscope.facts.critical_path import critical_path_facts
from stepscope.facts.replay import replay_facts
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class Estimate:
    """A replayed run. ``steps`` has one row per rank and step: rank, step, counted, period_ns, replayed_ns."""

    store: RunStore
    replay: Replay
    steps: pl.DataFrame
    error_share: float
    unexplained_share: float

    def changed(self, changes: Sequence[Change]) -> tuple[pl.DataFrame, list[Applied]]:
        """The steps with ``changed_ns``, and what each change acted on."""
        weights, applied = apply_changes(self.store, self.replay, changes)
        times = np.concatenate(weights.step_times())
        steps = self.steps.with_columns(changed_ns=pl.Series(times, dtype=pl.Int64))
        return pl.concat(_without_blind_first(own) for own in steps.partition_by("rank", maintain_order=True)), applied


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


def estimate_of(store: RunStore, ranks: list[int]) -> Estimate | None:
    """The replay of some ranks, held to what was recorded; None where nothing can be replayed."""
    replay = replay_of(store, ranks)
    if replay is None:
        return None
    rows = _recorded(store, replay)
    steps = rows.with_columns(replayed_ns=pl.Series(np.concatenate(replay.step_times()), dtype=pl.Int64))
    counted = steps["counted"].to_numpy()
    period, replayed = (steps[name].to_numpy()[counted] for name in ("period_ns", "replayed_ns"))
    error = float(np.abs(replayed - period).sum() / max(int(period.sum()), 1))
    explained = np.concatenate(_explained(store, replay).step_times())[counted]
    unexplained = float(1 - explained.sum() / max(int(replayed.sum()), 1))
    return Estimate(store, replay, steps, error, max(unexplained, 0.0))


def _recorded(store: RunStore, replay: Replay) -> pl.DataFrame:
    ranks = [part.rank for part in replay.parts]
    recorded = [rows for rank in ranks if (rows := steps_of_rank(store, rank)[0]) is not None]
    usual = typical(pl.concat(recorded)).select("rank", "step")
    counted = set(usual.iter_rows())
    parts = []
    for part, periods in zip(replay.parts, replay.periods, strict=True):
        steps = periods.step.tolist()
        parts.append(
            pl.DataFrame(
                {
                    "rank": [part.rank] * len(steps),
                    "step": steps,
                    "counted": [(part.rank, step) in counted for step in steps],
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
    for part_index, part in enumerate(replay.parts):
        waits = data_waits(store, part.rank)
        for_data = union(waits["start_ns"].to_numpy(), waits["end_ns"].to_numpy())
        for kind, most in longest.items():
            edges = weights.edges(part_index, (kind,))
            known: Int64s = weights.covered(part_index, edges, for_data) + most
            weights.weight[edges] = np.minimum(weights.weight[edges], known)
    return weights


def counted_rows(steps: pl.DataFrame) -> Bools:
    """Which rows averages count: those that are typical, all where none is."""
    counted: Bools = steps["counted"].to_numpy()
    return counted if counted.any() else np.ones(len(steps), np.bool_)
