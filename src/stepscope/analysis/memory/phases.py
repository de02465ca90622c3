"""In which phase of training a block was allocated: data, forward, backward or the optimizer's step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.step_windows import OUTSIDE, StepWindows
from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore

UNKNOWN, DATA, FORWARD, BACKWARD, OPTIMIZER = range(5)
_OPTIMIZER_STEP: Final = "Optimizer.step"
_LATEST: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Phases:
    """Per block its phase and the index of its step; per step where phases begin (the end of time if unknown)."""

    phase: Int64s
    step: Int64s
    backward_start: Int64s
    optimizer_start: Int64s


def phases_of(store: RunStore, rank: int, blocks: Blocks, windows: StepWindows) -> Phases:
    """Phases from the slices of the host; a snapshot without operators tells backward by its missing stacks."""
    step = windows.index_at(blocks.alloc_ns)
    data, optimizer, first, last = _host_phases(store, rank, windows)
    phase = np.full(len(step), UNKNOWN, np.int64)
    in_optimizer = optimizer.contains(blocks.alloc_ns)
    # PyTorch's autograd runs outside Python, so where stacks are recorded, its blocks are those without one.
    stackless = blocks.frame["stack"].is_null().to_numpy() & ~blocks.older & ~in_optimizer & (step != OUTSIDE)
    with_stack = blocks.frame["stack"].is_not_null().to_numpy()
    if not (first < last).any() and with_stack.any() and stackless.any() and len(optimizer.start):
        np.minimum.at(first, step[stackless], blocks.alloc_ns[stackless])
        in_backward = stackless
    else:
        inside = step != OUTSIDE
        in_backward = np.zeros(len(step), bool)
        if len(windows):
            at = step[inside]
            in_backward[inside] = (blocks.alloc_ns[inside] >= first[at]) & (blocks.alloc_ns[inside] < last[at])
    # Blocks allocated after backward are neither.
    known = np.append(first < _LATEST, False)[step] & (blocks.alloc_ns < np.append(first, 0)[step])
    phase[known] = FORWARD
    phase[in_backward] = BACKWARD
    phase[data.contains(blocks.alloc_ns)] = DATA
    phase[in_optimizer] = OPTIMIZER
    updates = np.full(len(windows), _LATEST, np.int64)
    at = windows.index_at(optimizer.start)
    np.minimum.at(updates, at[at != OUTSIDE], optimizer.start[at != OUTSIDE])
    return Phases(phase, step, first, updates)


def _host_phases(store: RunStore, rank: int, windows: StepWindows) -> tuple[Intervals, Intervals, Int64s, Int64s]:
    """Intervals of data loading and of the optimizer's step, and per step where backward begins and ends."""
    slices = slices_of(store, rank)
    end_ns = pl.col("start_ns") + pl.col("dur_ns")
    ranges = (
        slices.filter((pl.col("kind") == "annotation") | (pl.col("phase") == "data"))
        .select("start_ns", pl.col("name").cast(pl.String), end_ns=end_ns, is_data=pl.col("phase") == "data")
        .collect()
    )
    data = ranges.filter("is_data")
    updates = ranges.filter(pl.col("name").str.starts_with(_OPTIMIZER_STEP))
    backward = (
        slices.filter((pl.col("phase") == "backward") & (pl.col("kind") == "operator"))
        .group_by("step")
        .agg(first=pl.col("start_ns").min(), last=end_ns.max())
        .collect()
    )
    steps = pl.DataFrame({"step": windows.number}).join(backward, on="step", how="left", maintain_order="left")
    return (
        union(data["start_ns"].to_numpy(), data["end_ns"].to_numpy()),
        union(updates["start_ns"].to_numpy(), updates["end_ns"].to_numpy()),
        steps["first"].fill_null(_LATEST).to_numpy().copy(),
        steps["last"].fill_null(0).to_numpy(),
    )
