"""The mean step of a rank and how it divides, as ``summary`` has it: what all rules measure losses against."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import polars as pl

from stepscope.analysis.foundation.idle import CAUSES
from stepscope.analysis.step_statistics import typical
from stepscope.analysis.summary import RankSummary, Summary
from stepscope.facts.steps import steps_facts


@dataclass(frozen=True)
class Spread:
    """How counted steps differ: the mean of the usual ones, and which are long; ``rhythm`` 4 is every fourth step.

    ``idle_share`` tells for each cause of idle time how much of it lies in the long steps.
    """

    usual_us: float
    longest_us: float
    long_steps: list[int]
    rhythm: int | None
    idle_share: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RankTime:
    """Means over the counted steps of one rank, in microseconds."""

    rank: int
    steps: list[int]
    period_us: float
    computing_us: float
    exposed_communication_us: float
    exposed_copy_us: float
    idle_us: float
    idle_by_cause: dict[str, float] = field(default_factory=dict)
    spread: Spread | None = None

    @property
    def communicating_us(self) -> float:
        """Communication that nothing hides, waiting in it included."""
        return self.exposed_communication_us + self.idle_by_cause.get("collective", 0.0)

    def share(self, time_us: float) -> float:
        """A time as a part of the mean step."""
        return time_us / self.period_us if self.period_us else 0.0

    def more_in_long_steps_us(self, cause: str) -> float:
        """Per mean step, how much more idle time of a cause long steps have than the others."""
        if self.spread is None:
            return 0.0
        long = len(self.spread.long_steps) / len(self.steps)
        inside = self.spread.idle_share.get(cause, 0.0)
        more = inside - (1 - inside) * long / (1 - long)
        return self.idle_by_cause.get(cause, 0.0) * max(more, 0.0)


def rank_times(summary: Summary | None, steps: pl.DataFrame | None) -> dict[int, RankTime]:
    """The mean steps of all ranks whose idle time is known."""
    if summary is None or steps is None:
        return {}
    rows = {int(str(rank)): own for (rank,), own in typical(steps).group_by(["rank"], maintain_order=True)}
    known = [entry for entry in summary.ranks if entry.idle_by_cause is not None and entry.period_us]
    return {entry.rank: _rank_time(entry, rows[entry.rank]) for entry in known}


def _rank_time(entry: RankSummary, rows: pl.DataFrame) -> RankTime:
    return RankTime(
        rank=entry.rank,
        steps=rows["step"].to_list(),
        period_us=entry.period_us,
        computing_us=entry.computing_us or 0.0,
        exposed_communication_us=entry.exposed_communication_us or 0.0,
        exposed_copy_us=entry.exposed_copy_us or 0.0,
        idle_us=entry.idle_us or 0.0,
        idle_by_cause={cause: getattr(entry.idle_by_cause, f"{cause}_us") for cause in CAUSES},
        spread=_spread(entry, rows),
    )


def _spread(entry: RankSummary, rows: pl.DataFrame) -> Spread | None:
    """By the rhythm of long steps where there is one, else by those that stand out."""
    pattern = entry.pattern
    long = pattern.steps if pattern is not None else entry.statistics.outlier_steps or _far_above_the_median(rows)
    is_long = rows["step"].is_in(long)
    if not is_long.any() or is_long.all():
        return None
    idle = rows["idle_by_cause"].struct.unnest()
    inside, whole = (part.sum().row(0, named=True) for part in (idle.filter(is_long), idle))
    return Spread(
        usual_us=statistics.fmean(rows.filter(~is_long)["period_us"]),
        longest_us=entry.period_max_us,
        long_steps=long,
        rhythm=None if pattern is None else pattern.every,
        idle_share={name.removesuffix("_us"): inside[name] / total for name, total in whole.items() if total},
    )


def _far_above_the_median(rows: pl.DataFrame) -> list[int]:
    """Long steps too many to be outliers: from a quarter of the steps on, they raise the upper quartile itself.

    The quicker half tells how far steps scatter; as far above the median as Tukey's fence where they do so evenly.
    """
    limits, period = steps_facts().outlier, rows["period_us"]
    median, low = float(period.quantile(0.5, "linear") or 0.0), float(period.quantile(0.25, "linear") or 0.0)
    fence = median + (1 + 2 * limits.interquartile_ranges) * (median - low)
    least = max(fence, median * (1 + limits.least_share_over_median))
    return [int(step) for step in rows.filter(pl.col("period_us") > least)["step"]]
