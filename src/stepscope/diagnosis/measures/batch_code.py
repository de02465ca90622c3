"""Code of the training script between taking a batch and computing with it: how long the device idles for it."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import CATEGORIES
from stepscope.analysis.foundation.idle import HOST, idle_of
from stepscope.analysis.foundation.intervals import union
from stepscope.diagnosis.measures.rank_time import RankTime
from stepscope.facts.compute_roles import compute_roles_facts
from stepscope.facts.findings import finding_facts
from stepscope.store.run_store import RunStore


def idle_behind_batch_us(store: RunStore, time: RankTime) -> float:
    """Microseconds per step in which the device waits for such code; 0 where most of that waiting lies elsewhere."""
    stretches = _behind_batches(store, time)
    if stretches.is_empty():
        return 0.0
    idle = idle_of(store, time.rank)
    counted = np.isin(idle.periods.step[idle.gaps.period], time.steps)
    # Only what no slice of the host explains is code of the script.
    python = np.minimum(idle.gaps.cause[:, HOST], idle.gaps.activity[:, CATEGORIES.index("other")]) * counted
    window = union(stretches["fetched"].to_numpy(), stretches["used"].to_numpy())
    behind = np.minimum(python, window.covered_within(idle.gaps.start, idle.gaps.end))
    if behind.sum() < finding_facts().user_code.least_share_of_idle * python.sum():
        return 0.0
    return float(behind.sum()) / 1000 / len(time.steps)


def _behind_batches(store: RunStore, time: RankTime) -> pl.DataFrame:
    """Per step from the end of taking its batch to its first operator that is no copy of it."""
    phase, name = pl.col("phase").cast(pl.String), pl.col("name").cast(pl.String)
    slices = store.scan("slices", [time.rank]).filter(pl.col("step").is_in(time.steps))
    taken = slices.filter(phase == "data").group_by("step").agg(fetched=(pl.col("start_ns") + pl.col("dur_ns")).max())
    moves = name.str.contains(compute_roles_facts().roles.moves_a_batch)
    operators = slices.filter((pl.col("kind") == "operator") & (phase.fill_null("") != "data") & ~moves)
    firsts = (
        operators.select("step", "start_ns")
        .join(taken, on="step")
        .filter(pl.col("start_ns") >= pl.col("fetched"))
        .group_by("step")
        .agg(pl.col("fetched").first(), used=pl.col("start_ns").min())
    )
    return firsts.sort("fetched").collect()
