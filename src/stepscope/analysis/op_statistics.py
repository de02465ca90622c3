"""Kernels by type and core, with the columns of the vendor's ``op_statistic.csv``, from the kernels themselves."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.question import question
from stepscope.analysis.foundation.units import Count, Identifier, Microseconds, Share
from stepscope.analysis.foundation.work import COMPUTE, ranks_of
from stepscope.analysis.operators.executed import device_work
from stepscope.analysis.operators.kernel_names import with_short_types
from stepscope.analysis.vendor_tables import no_operators
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore


class OpStatistic(msgspec.Struct, frozen=True):
    """One type of kernel on one kind of core; ``ratio_share`` is of the rank's kernel time."""

    rank: Identifier
    op_type: str | None
    core_type: str | None
    count: Count
    total_us: Microseconds
    min_us: Microseconds
    avg_us: Microseconds
    max_us: Microseconds
    ratio_share: Share | None


@question(rows=OpStatistic)
def op_statistics(
    store: RunStore, *, ranks: Sequence[int] | None = None, steps: Sequence[int] | None = None
) -> Answer[pl.DataFrame]:
    """Rows of ``OpStatistic``, the longest first."""
    frames = []
    for rank in ranks_of(store, ranks):
        work = device_work(store, rank, steps)
        kernels = with_short_types(work.filter(pl.col("lane") == COMPUTE))
        if len(kernels):
            frames.append(_statistics(kernels, rank))
    if not frames:
        raise NoAnswerError("no_kernels") if steps else no_operators("no_kernels", store, ranks_of(store, ranks))
    return Answer(pl.concat(frames))


def _statistics(kernels: pl.DataFrame, rank: int) -> pl.DataFrame:
    duration = pl.col("dur_ns")
    groups = kernels.group_by("type", "core").agg(
        count=pl.len(), total=duration.sum(), least=duration.min(), greatest=duration.max()
    )
    total = pl.col("total")
    return groups.sort("total", "type", descending=[True, False], nulls_last=True).select(
        rank=pl.lit(rank, pl.Int64),
        op_type=pl.col("type").cast(pl.String),
        core_type=pl.col("core").cast(pl.String),
        count="count",
        total_us=in_microseconds(total),
        min_us=in_microseconds(pl.col("least")),
        avg_us=in_microseconds(total / pl.col("count")),
        max_us=in_microseconds(pl.col("greatest")),
        ratio_share=pl.when(total.sum() > 0).then(total / total.sum()),
    )
