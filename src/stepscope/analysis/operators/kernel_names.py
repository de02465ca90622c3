"""Kernels sorted into categories by their names."""

from __future__ import annotations

import re
from functools import cache

import polars as pl

from stepscope.analysis.foundation.work import COMPUTE
from stepscope.facts.kernel_names import short_name
from stepscope.facts.operators import operators_facts


@cache
def category(kernel: str, operator: str) -> str:
    """The category whose pattern the kernel's name or type fits first, else that of its operator, else ``other``."""
    for name in (kernel, operator):
        for entry, pattern in _patterns():
            if name and pattern.search(name):
                return entry
    return "other"


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((entry.name, re.compile(entry.pattern)) for entry in operators_facts().category)


def with_short_types(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose ``type``, where none was recorded, is the short name of the kernel. Works on distinct names."""
    names = rows.filter(pl.col("type").is_null() & pl.col("name").is_not_null()).select("name").unique()
    if names.is_empty():
        return rows
    short = [short_name(name) for name in names["name"].cast(pl.String)]
    known = names.with_columns(short=pl.Series(short, dtype=pl.String).cast(rows.schema["type"]))
    return rows.join(known, on="name", how="left").with_columns(type=pl.coalesce("type", "short")).drop("short")


def with_categories(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with their ``category``; communication and copies are known by the lane. Works on distinct names."""
    keys = ["name", "type", "operator", "lane"]
    combinations = rows.select(keys).unique()
    texts = combinations.select(pl.col(keys).cast(pl.String)).iter_rows()
    categories = [
        category(f"{kind or ''} {name or ''}", operator or "") if lane == COMPUTE else lane
        for name, kind, operator, lane in texts
    ]
    combinations = combinations.with_columns(category=pl.Series(categories, dtype=pl.String).cast(pl.Categorical))
    return rows.join(combinations, on=keys, how="left", nulls_equal=True)
