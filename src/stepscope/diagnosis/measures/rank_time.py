"""The mean step of a rank and how it divides, as ``summary`` has it: what all rules measure losses against."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from stepscope.analysis.foundation.idle import CAUSES
from stepscope.analysis.foundation.step_pattern import pattern_of
from stepscope.analysis.step_statistics import outliers, typical
from stepscope.analysis.summary import RankSummary, Summary
from stepscope.facts.findings import finding_facts
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
class LongSteps:
    """Steps that stand out, by their numbers; ``rhythm`` 4 is every fourth step."""

    steps: list[int]
    rhythm: int | None


@dataclass(frozen=True)
class RankTime:
    """Means over the counted steps of one rank, in microseconds; ``idle_in_steps`` has each of them, by cause."""

    rank: int
    steps: list[int]
    period_us: float
    computing_us: float
    exposed_communication_us: float
    exposed_copy_us: float
    idle_us: float
    idle_by_cause: dict[str, float] = field(default_factory=dict)
    spread: Spread | None = None
    idle_in_steps: dict[str, list[float]] = field(default_factory=dict)

    @property
    def communicating_us(self) -> float:
        """Communication that nothing hides, waiting in it included."""
        return self.exposed_communication_us + self.idle_by_cause.get("collective", 0.0)

    def share(self, time_us: float) -> float:
        """A time as a part of the mean step."""
        return time_us / self.period_us if self.period_us else 0.0

    def waits_mostly_in(self, cause: str) -> LongSteps | None:
        """The steps in which most of the idle time of a cause lies; None where that is no matter of some steps."""
        waits = pl.Series(self.idle_in_steps.get(cause, []), dtype=pl.Float64)
        if waits.is_empty():
            return None
        pattern = pattern_of(np.array(self.steps, np.int64), waits.to_numpy())
        if pattern is not None:
            long = LongSteps(pattern.steps, pattern.every)
        else:
            beyond = outliers(waits)
            beyond = beyond if beyond.any() else _far_above_the_median(waits)
            long = LongSteps([step for step, is_long in zip(self.steps, beyond, strict=False) if is_long], None)
        if not long.steps or not waits.sum():
            return None
        inside = sum(wait for step, wait in zip(self.steps, waits, strict=False) if step in long.steps)
        more = _more_inside(inside / waits.sum(), len(long.steps) / len(waits))
        return long if more >= finding_facts().step_jitter.least_share_of_idle else None

    def more_in_long_steps_us(self, cause: str) -> float:
        """Per mean step, how much more idle time of a cause long steps have than the others."""
        if self.spread is None:
            return 0.0
        more = _more_inside(self.spread.idle_share.get(cause, 0.0), len(self.spread.long_steps) / len(self.steps))
        return self.idle_by_cause.get(cause, 0.0) * max(more, 0.0)


def _more_inside(inside: float, long: float) -> float:
    """The share of a time that a share of the steps has beyond what they would have if all had it alike.

    >>> _more_inside(0.5, 0.5), _more_inside(1.0, 0.25)
    (0.0, 1.0)
    """
    return inside - (1 - inside) * long / (1 - long) if long < 1 else 0.0


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
        idle_in_steps={
            cause: rows["idle_by_cause"].struct.field(f"{cause}_us").to_list() for cause in ("data", "host")
        },
    )


def _spread(entry: RankSummary, rows: pl.DataFrame) -> Spread | None:
    """By the rhythm of long steps where there is one, else by those that stand out."""
    pattern = entry.pattern
    long = pattern.steps if pattern is not None else entry.statistics.outlier_steps
    if not long:
        long = rows.filter(_far_above_the_median(rows["period_us"]))["step"].to_list()
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


def _far_above_the_median(lengths: pl.Series) -> pl.Series:
    """Long steps too many to be outliers: from a quarter of the steps on, they raise the upper quartile itself.

    The quicker half tells how far steps scatter; as far above the median as Tukey's fence where they do so evenly.
    """
    limits = steps_facts().outlier
    median, low = (float(lengths.quantile(part, "linear") or 0.0) for part in (0.5, 0.25))
    fence = median + (1 + 2 * limits.interquartile_ranges) * (median - low)
    far: pl.Series = lengths > max(fence, median * (1 + limits.least_share_over_median))
    return far
