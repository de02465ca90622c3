"""What each rank needs for itself in each step: computing, input, its host. Waiting for others is not its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from stepscope.analysis.step_statistics import typical
from stepscope.diagnosis.measures.rank_time import RankTime

#: What makes a rank slow, as causes of findings.
CAUSES: Final = ("compute", "data", "host")
_HOST: Final = ("host", "sync", "gc", "unknown", "dependency")


@dataclass(frozen=True)
class OwnTime:
    """Microseconds by counted step, for each cause."""

    steps: list[int]
    by_cause: dict[str, list[float]]

    @property
    def whole(self) -> list[float]:
        """All causes together."""
        return [sum(parts) for parts in zip(*(self.by_cause[cause] for cause in CAUSES), strict=True)]


def own_times(steps: pl.DataFrame | None, times: Mapping[int, RankTime]) -> dict[int, OwnTime]:
    """By rank, of steps that all ranks counted; where no single steps are known, one mean step."""
    counted = [set(time.steps) for time in times.values()]
    common = sorted(set.intersection(*counted)) if counted else []
    if steps is None or not common:
        return {rank: _mean_step(time) for rank, time in times.items()}
    rows = typical(steps).filter(pl.col("rank").is_in(list(times)) & pl.col("step").is_in(common))
    rows = rows.drop_nulls(["computing_us", "idle_by_cause"]).sort("rank", "step")
    return {int(str(rank)): _of_rank(own) for (rank,), own in rows.group_by(["rank"], maintain_order=True)}


def _of_rank(rows: pl.DataFrame) -> OwnTime:
    idle = rows["idle_by_cause"].struct.unnest()
    host = idle.select(pl.sum_horizontal(f"{cause}_us" for cause in _HOST)).to_series()
    parts = (rows["computing_us"], idle["data_us"], host)
    return OwnTime(rows["step"].to_list(), {cause: part.to_list() for cause, part in zip(CAUSES, parts, strict=True)})


def _mean_step(time: RankTime) -> OwnTime:
    idle = time.idle_by_cause
    host = sum(idle.get(cause, 0.0) for cause in _HOST)
    parts = (time.computing_us, idle.get("data", 0.0), host)
    return OwnTime(time.steps[:1], {cause: [part] for cause, part in zip(CAUSES, parts, strict=True)})


def without_experts(own: OwnTime, expert_us: Sequence[float]) -> OwnTime:
    """Its time without what its experts took, whose load is no matter of the rank's speed."""
    rest = [time - experts for time, experts in zip(own.by_cause["compute"], expert_us, strict=True)]
    return replace(own, by_cause={**own.by_cause, "compute": rest})


def mean_over(series: Sequence[Sequence[float]]) -> list[float]:
    """Step by step, the mean of several series.

    >>> mean_over([[1, 2], [3, 6]])
    [2.0, 4.0]
    """
    return [sum(values) / len(values) for values in zip(*series, strict=True)]


def beyond_usual(steps: Sequence[float]) -> list[float]:
    """Step by step what is beyond the mean of the quicker half.

    >>> beyond_usual([10, 30, 12, 34])
    [-1.0, 19.0, 1.0, 23.0]
    """
    quicker = sorted(steps)[: (len(steps) + 1) // 2]
    usual = sum(quicker) / len(quicker)
    return [time - usual for time in steps]
