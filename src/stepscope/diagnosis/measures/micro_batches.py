"""Micro-batches of a pipeline: how many pass through it in a step, and how long each computes on a rank."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from stepscope.arrays import Int64s

if TYPE_CHECKING:
    from stepscope.diagnosis.context import RunContext
    from stepscope.diagnosis.measures.stages import Stages


def micro_batches(run: RunContext, stages: Stages) -> float:
    """Passes through the first two stages in a step, model chunks counted apart.

    What the first stage sends forward to the second; where phases were not recorded, half of what goes between them.
    With two stages and several chunks each, activations also come back to the first one, which are no passes.
    """
    first, second, *_ = sorted(stages.ranks)
    to_second = pl.col("rank").is_in(stages.ranks[first]) & pl.col("peer").is_in(stages.ranks[second])
    between = run.calls.per_rank(lambda calls: calls.filter(to_second).select("rank", "slice", "step", "kind"))
    phases = run.store.scan("slices", stages.ranks[first]).select("rank", "slice", pl.col("phase").cast(pl.String))
    between = between.lazy().join(phases, on=["rank", "slice"], how="left").collect()
    forward = between.filter((pl.col("kind") == "send") & (pl.col("phase") == "forward"))
    counted, share = (forward, 1.0) if len(forward) else (between, 0.5)
    per_step = counted.group_by("rank", "step").len()
    return float(statistics.median(per_step["len"])) * share if len(per_step) else 0.0


def pass_times(run: RunContext, rank: int, phase: str, passes: int) -> list[float]:
    """How long kernels take in each pass of a phase, beside the mean of its step; all counted steps one after another.

    All passes have the same kernels in the same order, so equal parts of a step's kernels are its passes. None where
    the kernels of some step cannot be divided so.
    """
    times: list[float] = []
    for passed in _passed(run, rank, phase, passes):
        of_passes = passed.sum(axis=1)
        times += (of_passes / max(of_passes.mean(), 1)).tolist()
    return times


def times_in_pass(run: RunContext, rank: int, phase: str, passes: int) -> list[float]:
    """How long the first kernel of each pass of a phase takes, the second, and so on: means over passes and steps."""
    of_steps = [passed.mean(axis=0) for passed in _passed(run, rank, phase, passes)]
    return np.mean(of_steps, axis=0).tolist() if of_steps and len({len(each) for each in of_steps}) == 1 else []


def _passed(run: RunContext, rank: int, phase: str, passes: int) -> list[Int64s]:
    """``[pass, kernel]`` of each counted step; nothing where the kernels of some step cannot be divided so."""
    kernels = run.store.scan("slices", [rank]).filter(
        (pl.col("kind").cast(pl.String) == "kernel") & (pl.col("phase").cast(pl.String) == phase)
    )
    own = kernels.select("step", "start_ns", "dur_ns").sort("step", "start_ns").collect()
    of_steps = []
    for step in run.own_times[rank].steps:
        lasted = own.filter(pl.col("step") == step)["dur_ns"].to_numpy()
        if not passes or not len(lasted) or len(lasted) % passes:
            return []
        of_steps.append(lasted.reshape(passes, -1))
    return of_steps
