"""One side of a comparison: a run, some of its ranks and steps, and what was counted of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.asked_steps import refuse_unknown_steps
from stepscope.analysis.foundation.idle import CAUSES
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.step_statistics import typical
from stepscope.analysis.steps import steps as step_trace
from stepscope.arrays import Int64s
from stepscope.compare.calls import executed_calls
from stepscope.compare.credit import PARTS
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore

#: What a period consists of, in nanoseconds, causes of idle time one by one.
IDLE_PARTS: Final = tuple(f"idle_{cause}" for cause in CAUSES)
PERIOD_PARTS: Final = (*PARTS, *IDLE_PARTS, "overlap")


@dataclass(frozen=True)
class Side:
    """``ranks`` and ``steps`` limit what is compared; None means all."""

    store: RunStore
    name: str
    ranks: Sequence[int] | None = None
    steps: Sequence[int] | None = None

    @cached_property
    def chosen_ranks(self) -> list[int]:
        return ranks_of(self.store, self.ranks)

    @cached_property
    def counted(self) -> pl.DataFrame:
        """The steps that are compared, ``sample`` being the step's turn on its rank: neither warm-up nor cut off."""
        if self.steps:
            refuse_unknown_steps(self.store, self.chosen_ranks, self.steps)
        trace = step_trace(self.store, ranks=self.chosen_ranks, steps=self.steps).data
        rows = (trace if self.steps else typical(trace)).filter(pl.col("computing_us").is_not_null())
        if rows.is_empty():
            raise NoAnswerError("nothing_to_compare", name=self.name)
        return rows.with_columns(sample=pl.int_range(pl.len()).over("rank")).sort("rank", "sample")

    @cached_property
    def pairs(self) -> int:
        """How many steps were counted, over all ranks."""
        return len(self.counted)

    @cached_property
    def samples(self) -> int:
        """How many steps a rank has at most."""
        return int(self.counted["sample"].max()) + 1  # type: ignore[arg-type]

    @cached_property
    def parts_ns(self) -> pl.DataFrame:
        """One row per counted step: ``rank``, ``sample`` and each part of its period, in whole nanoseconds."""
        busy = [_nanoseconds(pl.col(f"{part}_us")).alias(part) for part in (*PARTS, "overlap")]
        idle = [
            _nanoseconds(pl.col("idle_by_cause").struct.field(f"{cause}_us")).alias(f"idle_{cause}") for cause in CAUSES
        ]
        return self.counted.select("rank", "sample", _nanoseconds(pl.col("period_us")).alias("period"), *busy, *idle)

    @cached_property
    def calls(self) -> pl.DataFrame:
        """What was executed in the counted steps, all ranks below each other."""
        turns = self.counted.select("rank", "step", "sample")
        frames = []
        for rank in self.chosen_ranks:
            own = turns.filter(pl.col("rank") == rank).drop("rank")
            frames.append(
                executed_calls(self.store, rank).join(own, on="step").with_columns(rank=pl.lit(rank, pl.Int32))
            )
        return pl.concat(frames, how="vertical_relaxed")

    def per_sample(
        self, rows: Int64s, samples: Int64s, values: Int64s, count: int
    ) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """Sums by row and step, over all ranks."""
        sums = np.zeros((count, self.samples), np.int64)
        np.add.at(sums, (rows, samples), values)
        return sums

    @cached_property
    def ranks_per_sample(self) -> Int64s:
        """How many ranks have a step of each turn."""
        return np.bincount(self.counted["sample"].to_numpy(), minlength=self.samples)


def _nanoseconds(time_us: pl.Expr) -> pl.Expr:
    """Times of ``steps`` are exact to the nanosecond."""
    return (time_us.fill_null(0) * 1000).round().cast(pl.Int64)
