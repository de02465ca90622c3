"""Calls of runtime and driver, with the columns of the vendor's ``api_statistic.csv``, from the calls themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds, SquareMicroseconds
from stepscope.analysis.foundation.work import ranks_of
from stepscope.analysis.operators.executed import chosen_steps
from stepscope.errors import NoAnswerError
from stepscope.facts.operators import operators_facts
from stepscope.store.run_store import RunStore


class ApiStatistic(msgspec.Struct, frozen=True):
    """One call on one level; the variance is that of the population, in square microseconds."""

    rank: Identifier
    level: str
    name: str
    total_us: Microseconds
    count: Count
    avg_us: Microseconds
    min_us: Microseconds
    p50_us: Microseconds
    p95_us: Microseconds
    max_us: Microseconds
    variance_us2: SquareMicroseconds


@question(rows=ApiStatistic)
def api_statistics(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[pl.DataFrame]:
    """Rows of ``ApiStatistic``, the longest first."""
    frames = []
    for rank in ranks_of(store, ranks):
        calls = slices_of(store, rank).filter(pl.col("kind") == "runtime").select("name", "dur_ns", "step")
        rows = chosen_steps(calls.collect(), steps)
        if len(rows):
            frames.append(_statistics(rows, rank))
    if not frames:
        raise NoAnswerError("no_runtime_calls")
    return Answer(pl.concat(frames))


def _statistics(rows: pl.DataFrame, rank: int) -> pl.DataFrame:
    duration = pl.col("dur_ns")
    groups = rows.group_by("name").agg(
        count=pl.len(),
        total=duration.sum(),
        least=duration.min(),
        median=duration.quantile(0.5, "linear"),
        p95=duration.quantile(0.95, "linear"),
        greatest=duration.max(),
        variance=duration.var(ddof=0),
    )
    parts = [level_and_name(name) for name in groups["name"].cast(pl.String).fill_null("")]
    groups = groups.with_columns(
        level=pl.Series([level for level, _ in parts], dtype=pl.String),
        name=pl.Series([name for _, name in parts], dtype=pl.String),
    )
    return groups.sort("total", "name", descending=[True, False]).select(
        rank=pl.lit(rank, pl.Int64),
        level="level",
        name="name",
        total_us=in_microseconds(pl.col("total")),
        count="count",
        avg_us=in_microseconds(pl.col("total") / pl.col("count")),
        min_us=in_microseconds(pl.col("least")),
        p50_us=in_microseconds(pl.col("median")),
        p95_us=in_microseconds(pl.col("p95")),
        max_us=in_microseconds(pl.col("greatest")),
        variance_us2=pl.col("variance") / 1_000_000,
    )


@cache
def level_and_name(call: str) -> tuple[str, str]:
    """The layer that a call belongs to, and its name there.

    >>> level_and_name("AscendCL@aclrtMemcpy"), level_and_name("cudaLaunchKernel"), level_and_name("cuLaunchKernelEx")
    (('acl', 'aclrtMemcpy'), ('runtime', 'cudaLaunchKernel'), ('driver', 'cuLaunchKernelEx'))
    """
    table = operators_facts().api
    prefix, separator, rest = call.partition("@")
    if prefix in table.prefixes:
        return table.prefixes[prefix], rest if separator else call
    for entry in table.patterns:
        if re.search(entry.pattern, call):
            return entry.level, call
    return "other", call
