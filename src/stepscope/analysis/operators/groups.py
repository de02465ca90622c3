"""Executed slices put together by kernel, type, operator, shape, module, category or core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from stepscope.analysis.operators.kernel_names import with_categories, with_short_types

#: What names a group, and what else must be equal in it.
KEYS: Final[dict[str, tuple[str, ...]]] = {
    "kernel": ("name", "type", "core"),
    "type": ("type", "core"),
    "operator": ("operator",),
    "shape": ("name", "type", "core", "input_shapes", "dtypes"),
    "module": ("module",),
    "category": ("category",),
    "core": ("core",),
}
#: The column that holds a group's name, where it is not the grouping's own.
NAMED_BY: Final = {"kernel": "name", "shape": "name"}
_FACTS: Final = ("operator", "category", "type", "core")


def described(rows: pl.DataFrame) -> pl.DataFrame:
    """Executed slices with a type, short where none was recorded, and a category."""
    return with_categories(with_short_types(rows))


def grouped(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """One row per group, the longest first: statistics in nanoseconds, and the operator that takes most of its time."""
    keys = list(KEYS[by])
    named = NAMED_BY.get(by, by)
    measured = rows.group_by(keys).agg(
        *statistics(pl.col("dur_ns")), steps=pl.col("step").n_unique() - pl.col("step").has_nulls()
    )
    facts = [] if by in ("module", "core", "category") else [name for name in _FACTS if name not in keys]
    told = measured.join(_leading(rows, keys, facts), on=keys, how="left", nulls_equal=True) if facts else measured
    extra = [] if named == "name" else [pl.col(named).alias("name")]
    return longest_first(told.with_columns(extra), "total_ns", keys)


def longest_first(groups: pl.DataFrame, time: str, keys: Sequence[str]) -> pl.DataFrame:
    """Groups by time, then by name and whatever else tells them apart, so that equal times have one order."""
    others = [name for name in keys if name != "name"]
    return groups.sort(time, "name", *others, descending=[True, *[False] * (1 + len(others))], nulls_last=True)


def statistics(duration: pl.Expr) -> list[pl.Expr]:
    """Count, total, least, greatest and percentiles of a column of nanoseconds."""
    return [
        pl.len().alias("count"),
        duration.sum().alias("total_ns"),
        duration.min().alias("min_ns"),
        duration.quantile(0.5, "linear").alias("p50_ns"),
        duration.quantile(0.95, "linear").alias("p95_ns"),
        duration.max().alias("max_ns"),
    ]


def _leading(rows: pl.DataFrame, keys: list[str], facts: list[str]) -> pl.DataFrame:
    """For each group, the facts that most of its time has."""
    parts = rows.group_by(*keys, *facts).agg(pl.col("dur_ns").sum())
    parts = parts.sort("dur_ns", *facts, descending=[True, *([False] * len(facts))], nulls_last=True)
    return parts.unique(keys, keep="first", maintain_order=True).drop("dur_ns")
