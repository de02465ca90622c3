"""How steps are spread: median, p95, outliers, patterns. Warm-up and incomplete steps are named and left out."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import polars as pl

from stepscope.analysis.foundation.microseconds import to_picoseconds
from stepscope.analysis.foundation.step_pattern import Pattern, pattern_of
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds
from stepscope.facts.steps import steps_facts


class Spread(msgspec.Struct, frozen=True):
    """One field over the typical steps of a rank."""

    field: str
    median: Microseconds
    p95: Microseconds
    mean: Microseconds
    minimum: Microseconds
    maximum: Microseconds


class StepStatistics(msgspec.Struct, frozen=True):
    """The steps of one rank. ``mode`` is that of the steps counted: training where there are any."""

    rank: Identifier
    mode: str
    counted: Count
    warm_up_steps: list[Identifier]
    incomplete_steps: list[Identifier]
    other_mode_steps: list[Identifier]
    outlier_steps: list[Identifier]
    pattern: Pattern | None
    spreads: list[Spread]


def step_statistics(steps: pl.DataFrame) -> list[StepStatistics]:
    """Statistics per rank, from the frame that ``steps`` gives."""
    counted = typical(steps)
    others = steps.join(counted.select("rank", "step"), on=["rank", "step"], how="anti")
    counted_of, others_of = _by_rank(counted), _by_rank(others)
    return [
        _of_rank(rank, counted_of[rank], others_of.get(rank, others.clear()))
        for rank in steps["rank"].unique(maintain_order=True)
    ]


def _by_rank(steps: pl.DataFrame) -> dict[int, pl.DataFrame]:
    parts = steps.partition_by("rank", as_dict=True, maintain_order=True)
    return {int(rank): rows for (rank,), rows in parts.items()}


def typical(steps: pl.DataFrame) -> pl.DataFrame:
    """The steps that averages count: neither warm-up nor incomplete, and of training where a rank trains at all."""
    usual = steps.filter(~pl.col("warm_up") & ~pl.col("incomplete"))
    missing = steps.join(usual.select("rank").unique(), on="rank", how="anti")  # a rank with nothing better
    kept = pl.concat([usual, missing])
    # Nothing was recorded of some steps; where other steps tell more, those count.
    told = pl.col("computing_us").is_not_null()
    kept = kept.filter(told | ~told.any().over("rank"))
    # Evaluation is left out where a rank trains; a step without any work is a stall, and counts.
    trains = (pl.col("mode") == "training").any().over("rank")
    return kept.filter(~trains | (pl.col("mode") != "inference")).sort("rank", "start_ns", maintain_order=True)


def _of_rank(rank: int, counted: pl.DataFrame, others: pl.DataFrame) -> StepStatistics:
    fields = [name for name in counted.columns if name.endswith("_us")]
    return StepStatistics(
        rank=rank,
        mode="training" if (counted["mode"] == "training").any() else str(counted["mode"][0]),
        counted=len(counted),
        warm_up_steps=_numbers(others.filter("warm_up")),
        incomplete_steps=_numbers(others.filter(pl.col("incomplete") & ~pl.col("warm_up"))),
        other_mode_steps=_numbers(others.filter(~pl.col("incomplete") & ~pl.col("warm_up"))),
        outlier_steps=_numbers(counted.filter(outliers(counted["period_us"]))),
        pattern=pattern_of(counted["step"].to_numpy(), counted["period_us"].to_numpy()),
        spreads=list(_spreads(counted, fields)),
    )


def _spreads(rows: pl.DataFrame, fields: list[str]) -> Iterable[Spread]:
    known = pl.col(fields).drop_nulls()
    numbers = (known.median(), known.quantile(0.95, "linear"), known.mean(), known.min(), known.max())
    columns = [rows.select(to_picoseconds(number)) for number in numbers]
    for name in fields:
        values = [column[name][0] for column in columns]
        if values[0] is not None:
            yield Spread(name, *(float(value) for value in values))


def outliers(duration: pl.Series) -> pl.Series:
    """Steps beyond Tukey's upper fence that are also noticeably longer than the median."""
    limits = steps_facts().outlier
    low, high = duration.quantile(0.25, "linear"), duration.quantile(0.75, "linear")
    median = duration.median()
    if low is None or high is None or not isinstance(median, float):
        return pl.Series([False] * len(duration))
    fence = high + limits.interquartile_ranges * (high - low)
    beyond: pl.Series = (duration > fence) & (duration > median * (1 + limits.least_share_over_median))
    return beyond


def _numbers(rows: pl.DataFrame) -> list[int]:
    return [int(step) for step in rows["step"].to_list()]
