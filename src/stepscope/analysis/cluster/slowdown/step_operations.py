"""The operations of a job's steps as arrays over data-parallel ranks and steps, as a replay needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from stepscope.arrays import Int64s
from stepscope.facts.training_operations import training_operations_facts
from stepscope.store.run_store import RunStore


class Operation(NamedTuple):
    """The n-th operation of a name in a step of a stage."""

    stage: int
    name: str
    number: int


@dataclass(frozen=True)
class StepOperations:
    """Start and duration of each operation, ``[data-parallel rank, step]``, in nanoseconds."""

    ranks: pl.DataFrame  # rank, dp, pp
    steps: list[int]
    start: dict[Operation, Int64s]
    duration: dict[Operation, Int64s]

    @property
    def stages(self) -> list[int]:
        """Numbers of the pipeline stages."""
        return sorted(set(self.ranks["pp"]))

    @property
    def lines(self) -> list[int]:
        """Data-parallel coordinates, in the order of the arrays."""
        return sorted(set(self.ranks["dp"]))


def step_operations(store: RunStore) -> StepOperations | None:
    """Nothing where the run does not hold the same operations for every data-parallel rank of a stage.

    Steps in which some rank has other operations than usual, such as those with an evaluation, are left out.
    """
    known = list(training_operations_facts().operations)
    ranks = store.scan("ranks").select("rank", "dp", "pp").collect()
    if ranks.is_empty() or ranks.select(pl.any_horizontal(pl.all().is_null().any())).item():
        return None
    if ranks.select("dp", "pp").is_duplicated().any() or len(ranks) != ranks["dp"].n_unique() * ranks["pp"].n_unique():
        return None
    slices = (
        store.scan("slices")
        .select("rank", "step", "start_ns", "dur_ns", pl.col("name").cast(pl.String))
        .filter(pl.col("name").is_in(known) & pl.col("step").is_not_null())
        .collect()
        .join(ranks, on="rank")
        .sort("pp", "name", "dp", "step", "start_ns")
    )
    if "forward-compute" not in slices["name"]:
        return None
    rows = _usual_steps(slices, len(ranks) // ranks["pp"].n_unique())
    steps = rows["step"].unique().sort().to_list()
    start: dict[Operation, Int64s] = {}
    duration: dict[Operation, Int64s] = {}
    for (stage, name), own in rows.group_by("pp", "name", maintain_order=True):
        shape = (ranks["dp"].n_unique(), len(steps), -1)
        starts, durations = (own[column].to_numpy().reshape(shape) for column in ("start_ns", "dur_ns"))
        for number in range(starts.shape[2]):
            operation = Operation(int(str(stage)), str(name), number)
            start[operation] = np.ascontiguousarray(starts[:, :, number])
            duration[operation] = np.ascontiguousarray(durations[:, :, number])
    return StepOperations(ranks, steps, start, duration) if steps else None


def _usual_steps(slices: pl.DataFrame, lines: int) -> pl.DataFrame:
    counts = slices.group_by("pp", "name", "step").agg(
        count=pl.len(), dp=pl.col("dp").n_unique(), ranks=pl.len().over("dp").n_unique()
    )
    usual = counts.group_by("pp", "name").agg(usual=pl.col("count").mode().max(), of_steps=pl.len())
    every = counts["step"].n_unique()
    fits = (pl.col("count") == pl.col("usual")) & (pl.col("dp") == lines) & (pl.col("ranks") == 1)
    judged = counts.join(usual.filter(pl.col("of_steps") * 2 > every), on=["pp", "name"], how="left")
    names = len(usual.filter(pl.col("of_steps") * 2 > every))
    whole = judged.group_by("step").agg(fits=fits.fill_null(False).all(), names=pl.len()).filter("fits")
    return slices.join(whole.filter(pl.col("names") == names), on="step", how="semi", maintain_order="left")
