"""How much work a stage puts into a batch: as recorded where it was, else its processor time."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from stepscope.analysis.pipeline.observed import Observed
from stepscope.analysis.pipeline.processors import Processors


@dataclass(frozen=True)
class Costs:
    """Microseconds per batch, all workers together. What was recorded includes waiting for storage."""

    us: dict[int, float]
    recorded: bool

    def slowest(self, candidates: list[int], otherwise: int) -> int:
        """The one that works longest, where work was recorded."""
        known = [op for op in candidates if op in self.us] if self.recorded else []
        return max(known, key=lambda op: self.us[op], default=otherwise)


def costs_of(seen: Observed, period_us: float | None, processors: Processors) -> Costs:
    """The costs of all stages of which anything is known."""
    recorded = _recorded(seen)
    if recorded:
        return Costs(recorded, True)
    return Costs({op: cores * period_us for op, cores in processors.op_cores.items()} if period_us else {}, False)


def _recorded(seen: Observed) -> dict[int, float]:
    """Slices of work carry the kind of their stage; kinds that several stages share tell nothing."""
    if seen.works.is_empty() or seen.batches.is_empty():
        return {}
    kinds = seen.ops.with_columns(pl.col("kind").cast(pl.String)).filter(pl.col("kind").is_unique())
    length = (pl.col("end_ns") - pl.col("start_ns")).sum() / 1000 / len(seen.batches)
    times = seen.works.group_by("type").agg(us=length).join(kinds, left_on="type", right_on="kind")
    return dict(times.select("op", "us").iter_rows())
