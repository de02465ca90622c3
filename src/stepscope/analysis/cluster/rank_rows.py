"""One row per rank: coordinates, mean step, waiting, rates, memory, and in what it stands apart from its peers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.analysis.cluster.mean_times import MeanTimes
from stepscope.analysis.cluster.plan import ParallelPlan
from stepscope.analysis.flops import flops
from stepscope.analysis.foundation.microseconds import to_picoseconds
from stepscope.analysis.foundation.units import (
    Bytes,
    Count,
    FlopCount,
    FlopsPerSecond,
    Identifier,
    Share,
    fields_in,
)
from stepscope.analysis.memory.out_of_memory import capacity_of
from stepscope.analysis.memory.peak import peak
from stepscope.analysis.memory.spaces import spaces_of
from stepscope.analysis.step_statistics import typical
from stepscope.analysis.steps import Step
from stepscope.arrays import Bools
from stepscope.errors import NoAnswerError
from stepscope.facts.outliers import outliers_facts
from stepscope.store.run_store import RunStore

# What a rank may stand apart in; times against the period, all else against its own median.
_TIMES: Final = ("computing_us", "exposed_communication_us", "idle_us", "interval_us", "tail_us")
_NUMBERS: Final = ("flops_per_s", "peak_memory_bytes", "expert_tokens")
_FEWEST_PEERS: Final = 3  # with two, either could be the one that deviates
_SCALE: Final = 0.6745  # makes the score a standard score where values are normally distributed


class RankRow(MeanTimes, frozen=True):
    """One rank; times are means over its counted steps, null is what the capture cannot tell."""

    rank: Identifier
    host: str | None
    device_kind: str | None
    device_name: str | None
    device_index: Identifier | None
    dp: Identifier | None
    tp: Identifier | None
    pp: Identifier | None
    ep: Identifier | None
    cp: Identifier | None
    steps: Count
    flops: FlopCount | None
    flops_per_s: FlopsPerSecond | None
    peak_memory_bytes: Bytes | None
    memory_capacity_bytes: Bytes | None
    expert_tokens: Count | None
    deviation_share: Share | None
    outliers: list[str]


# Fields of the step trace whose means stand in a row.
_STEP_FIELDS: Final = tuple(field for field in fields_in("us", RankRow) if field in Step.__struct_fields__)


@dataclass(frozen=True)
class Blame:
    """Nanoseconds by rank, over all counted steps: waited (in the pipeline), waited for by others, late by.

    Without a send that has found its receive, nothing is known of waiting ``in_pipeline``.
    """

    waited: Mapping[int, float]
    in_pipeline: Mapping[int, float] | None
    caused: Mapping[int, float]
    late: Mapping[int, float]


def rank_rows(store: RunStore, plan: ParallelPlan, steps: pl.DataFrame | None, blame: Blame | None) -> list[RankRow]:
    """Rows in the order of ranks."""
    means = _mean_steps(steps)
    about = store.scan("ranks").select("rank", pl.col("device_kind", "device_name").cast(pl.String)).collect()
    pipeline = None if blame is None else blame.in_pipeline
    devices = {rank: (kind, name) for rank, kind, name in about.iter_rows()}
    rates, memory, tokens = _rates(store, plan), _memory(store, plan), _tokens(store)
    rows = []
    for each in plan.ranks:
        mean = means.get(each.rank, {})
        count = int(mean.get("steps", 0))
        kind, name = devices.get(each.rank, (None, None))
        work, rate = rates.get(each.rank, (None, None))
        highest, capacity = memory.get(each.rank, (None, None))
        rows.append(
            RankRow(
                **msgspec.structs.asdict(each),
                device_kind=kind,
                device_name=name,
                steps=count,
                **{field: mean.get(field) for field in _STEP_FIELDS},  # type: ignore[arg-type]
                wait_us=None if blame is None else _per_step(blame.waited, each.rank, count),
                pipeline_wait_us=None if pipeline is None else _per_step(pipeline, each.rank, count),
                caused_wait_us=None if blame is None else _per_step(blame.caused, each.rank, count),
                delay_us=None if blame is None else _per_step(blame.late, each.rank, count),
                flops=work,
                flops_per_s=rate,
                peak_memory_bytes=highest,
                memory_capacity_bytes=capacity,
                expert_tokens=tokens.get(each.rank),
                deviation_share=None,
                outliers=[],
            )
        )
    return _marked(rows)


def _mean_steps(steps: pl.DataFrame | None) -> dict[int, dict[str, Any]]:
    if steps is None:
        return {}
    means = typical(steps).group_by("rank").agg(to_picoseconds(pl.col(_STEP_FIELDS).mean()), steps=pl.len())
    return {row.pop("rank"): row for row in means.iter_rows(named=True)}


def _per_step(total_ns: Mapping[int, float], rank: int, steps: int) -> float | None:
    return round(total_ns.get(rank, 0.0) / steps / 1000, 3) if steps else None


def _rates(store: RunStore, plan: ParallelPlan) -> dict[int, tuple[int, float | None]]:
    """FLOPs and rate of each rank; none if the first rank has none, because then no shapes were recorded."""
    known: dict[int, tuple[int, float | None]] = {}
    for each in plan.ranks:
        try:
            (entry,) = flops(store, ranks=[each.rank]).data.ranks
        except (NoAnswerError, ValueError):
            if not known:
                return {}
            continue
        known[each.rank] = (int(entry.flops), entry.flops_per_s)
    return known


def _memory(store: RunStore, plan: ParallelPlan) -> dict[int, tuple[int, int | None]]:
    """The highest moment of the fullest device of each rank, and what that device has."""
    if not store.manifest.rows("memory") and not store.manifest.rows("allocations"):
        return {}
    known: dict[int, tuple[int, int | None]] = {}
    for each in plan.ranks:
        spaces, _ = spaces_of(store, each.rank)
        on_device = [space for space in spaces if not str(space.device).startswith("cpu")] or spaces
        if on_device:
            known[each.rank] = (max(peak(space).bytes for space in on_device), capacity_of(store, each.rank))
    return known


def _tokens(store: RunStore) -> dict[int, int]:
    """Tokens that the experts of a rank were chosen for, where that was dumped."""
    chosen = pl.col("key").cast(pl.String).str.starts_with("expert ")
    rows = store.scan("reported").filter(chosen).group_by("rank").agg(pl.col("value").sum()).collect()
    return {rank: int(value) for rank, value in rows.iter_rows()}


def _marked(rows: list[RankRow]) -> list[RankRow]:
    """Rows with the fields in which a rank stands apart from those of its stage, and how far it is from them."""
    marks: dict[int, list[str]] = {row.rank: [] for row in rows}
    deviations: dict[int, float] = {}
    for stage in {row.pp for row in rows}:
        peers = [row for row in rows if row.pp == stage]
        periods = [row.period_us for row in peers if row.period_us is not None]
        period = float(np.median(periods)) if periods else 0.0
        for field in (*_TIMES, *_NUMBERS):
            for rank in _apart(peers, field, period if field in _TIMES else None):
                marks[rank].append(field)
        for field in _TIMES:
            for rank, away in _distances(peers, field, period):
                deviations[rank] = max(away, deviations.get(rank, 0.0))
    return [
        msgspec.structs.replace(row, outliers=marks[row.rank], deviation_share=deviations.get(row.rank)) for row in rows
    ]


def _distances(peers: list[RankRow], field: str, period: float) -> Iterable[tuple[int, float]]:
    """How far each rank is from the median of its peers, as a share of the step; nothing for fewer than three."""
    known = [(row.rank, float(value)) for row in peers if (value := getattr(row, field)) is not None]
    if len(known) < _FEWEST_PEERS or period <= 0:
        return []
    middle = float(np.median([value for _, value in known]))
    return [(rank, abs(value - middle) / period) for rank, value in known]


def _apart(peers: list[RankRow], field: str, whole: float | None) -> Iterable[int]:
    known = [(row.rank, float(value)) for row in peers if (value := getattr(row, field)) is not None]
    if len(known) < _FEWEST_PEERS:
        return []
    values = np.array([value for _, value in known])
    far = stands_apart(values, float(np.median(values)) if whole is None else whole)
    return [rank for (rank, _), apart in zip(known, far.tolist(), strict=True) if apart]


def stands_apart(values: npt.NDArray[np.float64], whole: float) -> Bools:
    """Whether each value is far from the median: against the median deviation, and against a whole.

    >>> stands_apart(np.array([10.0, 10.1, 9.9, 10.0, 12.0]), 20.0).tolist()
    [False, False, False, False, True]
    """
    limits = outliers_facts()
    away = np.abs(values - np.median(values))
    return np.asarray((_SCALE * away > limits.score * np.median(away)) & (away >= limits.least_share * whole))
