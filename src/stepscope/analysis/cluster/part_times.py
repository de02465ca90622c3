"""Means over the ranks of a part of a job: a stage, a host, a line of a dimension, a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from stepscope.analysis.cluster.mean_times import MeanTimes
from stepscope.analysis.cluster.plan import ParallelPlan
from stepscope.analysis.cluster.rank_rows import RankRow
from stepscope.analysis.foundation.units import Bytes, FlopsPerSecond, Identifier, Share, fields_in


class PartTimes(MeanTimes, frozen=True):
    """A part of a job, named by dimension and index, by host, or by ids; times are means over its ranks."""

    dimension: str | None
    index: Identifier | None
    host: str | None
    ids: list[str]
    ranks: list[Identifier]
    computing_spread_share: Share | None
    slowest_rank: Identifier | None
    flops_per_s: FlopsPerSecond | None
    peak_memory_bytes: Bytes | None


_MEANS: Final = (*fields_in("us", PartTimes), *fields_in("flops_per_s", PartTimes))


def stages(rows: Sequence[RankRow], plan: ParallelPlan) -> list[PartTimes]:
    """One part per pipeline stage; none where there is no pipeline."""
    if plan.size("pp") < 2:
        return []
    return [_part(rows, ranks, dimension="pp", index=stage) for stage, ranks in plan.stages.items()]


def hosts(rows: Sequence[RankRow], plan: ParallelPlan) -> list[PartTimes]:
    """One part per host, where hosts are known."""
    return [_part(rows, ranks, host=host) for host, ranks in plan.hosts.items()]


def by_dimension(rows: Sequence[RankRow], plan: ParallelPlan) -> list[PartTimes]:
    """One part per index of each dimension that the job is split in."""
    return [
        _part(rows, ranks, dimension=each.dimension, index=index)
        for each in plan.dimensions
        if each.size > 1
        for index, ranks in plan.lines(each.dimension).items()
    ]


def groups(rows: Sequence[RankRow], plan: ParallelPlan) -> list[PartTimes]:
    """One part per group of which a rank was captured."""
    captured = plan.of_rank
    return [
        _part(rows, there, dimension=each.dimension, ids=each.ids)
        for each in plan.groups
        if (there := [rank for rank in each.ranks if rank in captured])
    ]


def balance(values: Sequence[float | None]) -> float | None:
    """The largest over the mean; none where fewer than two are known.

    >>> balance([1.0, 3.0]), balance([2.0])
    (1.5, None)
    """
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    return max(known) / mean if len(known) > 1 and mean > 0 else None


def _part(rows: Sequence[RankRow], ranks: list[int], **name: Any) -> PartTimes:
    wanted = set(ranks)
    own = [row for row in rows if row.rank in wanted]
    computing = [(row.computing_us, row.rank) for row in own if row.computing_us is not None]
    period = _mean(own, "period_us")
    memory = [row.peak_memory_bytes for row in own if row.peak_memory_bytes is not None]
    spread = (max(computing)[0] - min(computing)[0]) / period if computing and period else None
    means: dict[str, Any] = {field: _mean(own, field) for field in _MEANS}
    return PartTimes(
        **{"dimension": None, "index": None, "host": None, "ids": [], **name},
        ranks=ranks,
        **means,
        computing_spread_share=spread,
        slowest_rank=max(computing)[1] if computing else None,
        peak_memory_bytes=max(memory, default=None),
    )


def _mean(rows: Sequence[RankRow], field: str) -> float | None:
    known = [value for row in rows if (value := getattr(row, field)) is not None]
    return round(float(np.mean(known)), 3) if known else None
