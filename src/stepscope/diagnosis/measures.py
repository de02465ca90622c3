"""The mean step of a rank and how it divides: what all rules measure losses against."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass, field

import polars as pl

from stepscope.analysis.step_statistics import typical
from stepscope.facts.findings import finding_facts


@dataclass(frozen=True)
class Spread:
    """How counted steps differ: the mean of the usual ones, and which are long; ``rhythm`` 4 is every fourth step."""

    usual_us: float
    longest_us: float
    long_steps: list[int]
    rhythm: int | None


@dataclass(frozen=True)
class RankTime:
    """Means over the counted steps of one rank, in microseconds; ``idle_by_cause`` is empty where nobody knows."""

    rank: int
    steps: list[int]
    period_us: float
    computing_us: float
    exposed_communication_us: float
    exposed_copy_us: float
    idle_us: float
    idle_by_cause: dict[str, float] = field(default_factory=dict)
    spread: Spread | None = None

    def share(self, time_us: float) -> float:
        """A time as a part of the mean step."""
        return time_us / self.period_us if self.period_us else 0.0


def rank_times(steps: pl.DataFrame | None) -> dict[int, RankTime]:
    """The mean steps of all ranks whose work is known."""
    if steps is None:
        return {}
    counted = typical(steps).drop_nulls(["computing_us", "idle_us"])
    by_rank = counted.group_by(["rank"], maintain_order=True)
    return {int(str(rank)): _rank_time(int(str(rank)), rows) for (rank,), rows in by_rank}


def _rank_time(rank: int, rows: pl.DataFrame) -> RankTime:
    causes = rows.select(pl.col("idle_by_cause").struct.unnest().mean()).row(0, named=True)
    return RankTime(
        rank=rank,
        steps=rows["step"].to_list(),
        period_us=_mean(rows["period_us"]),
        computing_us=_mean(rows["computing_us"]),
        exposed_communication_us=_mean(rows["exposed_communication_us"]),
        exposed_copy_us=_mean(rows["exposed_copy_us"]),
        idle_us=_mean(rows["idle_us"]),
        idle_by_cause={name.removesuffix("_us"): float(mean) for name, mean in causes.items()},
        spread=spread_of(dict(rows.select("step", "period_us").iter_rows())),
    )


def spread_of(period_us: dict[int, float]) -> Spread | None:
    """Which steps are long, from the period of each counted step in time order; None where none is.

    >>> spread_of({1: 10, 2: 10, 3: 40, 4: 10, 5: 10, 6: 40, 7: 10})
    Spread(usual_us=10.0, longest_us=40, long_steps=[3, 6], rhythm=3)
    """
    limit = finding_facts().step_jitter.longer_than_median * statistics.median(period_us.values())
    long = [step for step, period in period_us.items() if period > limit]
    if not long or len(long) == len(period_us):
        return None
    usual = statistics.fmean(period for step, period in period_us.items() if step not in long)
    numbers = list(period_us)
    distances = {numbers.index(later) - numbers.index(step) for step, later in itertools.pairwise(long)}
    rhythm = distances.pop() if len(distances) == 1 else None
    return Spread(usual, max(period_us.values()), long, rhythm)


def _mean(values: pl.Series) -> float:
    mean = values.mean()
    return float(mean) if isinstance(mean, (int, float)) else 0.0
