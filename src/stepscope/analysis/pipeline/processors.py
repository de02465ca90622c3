"""Use of processors: machine, process and pipeline stages, in cores; and what other processes take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

_SHARES: Final = ("user", "system", "io", "idle")
# Percentages are cut to whole numbers before they are written, so their sum is not exact.
_SUM_TOLERANCE: Final = 0.1


@dataclass(frozen=True)
class Processors:
    """Means over the samples of one rank; None is what nobody recorded."""

    cores: int | None
    busy_share: float | None
    user_share: float | None
    system_share: float | None
    process_cores: float | None
    sibling_cores: float
    other_cores: float | None
    crowded_share: float | None  # samples with more runnable threads than cores
    switches_per_s: float | None
    op_cores: dict[int, float]

    @property
    def other_share(self) -> float | None:
        return None if self.other_cores is None or not self.cores else min(self.other_cores / self.cores, 1.0)


def with_busy(rows: pl.DataFrame) -> pl.DataFrame:
    """Samples with ``busy``: cores in user and system mode; where those are lost, what is neither idle nor waiting."""
    cores = cores_of(rows)
    rest = pl.lit(cores, pl.Float64) - pl.col("idle") - pl.col("io").fill_null(0.0)
    inverse = pl.when(pl.col("scope") == "machine").then(rest.clip(lower_bound=0))
    return rows.with_columns(
        pl.col("scope").cast(pl.String), busy=pl.coalesce(pl.col("user") + pl.col("system"), inverse)
    )


def cores_of(rows: pl.DataFrame) -> int | None:
    """The number of cores, which is what the machine's shares add up to; None if they do not add up to one number."""
    whole = rows.filter(pl.col("scope") == "machine").select(pl.sum_horizontal(*_SHARES, ignore_nulls=False))
    sums = whole.to_series().drop_nulls()
    sums = sums.filter(sums > 0)
    if sums.is_empty():
        return None
    cores = round(float(sums.quantile(0.9) or 0))
    return cores if cores and float((sums - cores).abs().median() or 0) <= cores * _SUM_TOLERANCE else None  # type: ignore[arg-type]


def processors_of(rows: pl.DataFrame, sibling_cores: float = 0.0) -> Processors:
    """The rank's samples summed up; ``sibling_cores`` is what the job's other ranks take on the same host."""
    cores = cores_of(rows)
    rows = with_busy(rows)
    machine, process = rows.filter(pl.col("scope") == "machine"), rows.filter(pl.col("scope") == "process")
    busy, own = _mean(machine["busy"]), _mean(process["busy"])
    together = machine.select("time_ns", "busy").join(process.select("time_ns", own="busy"), on="time_ns").drop_nulls()
    other = _mean((together["busy"] - together["own"] - sibling_cores).clip(lower_bound=0)) if len(together) else None
    seconds = machine["time_ns"].diff().cast(pl.Float64) / 1e9
    timed = machine.with_columns(seconds=seconds).filter(pl.col("seconds") > 0)
    per_op = rows.filter((pl.col("scope") == "op") & pl.col("id").is_not_null())
    means = per_op.group_by("id").agg(pl.col("busy").mean()).drop_nulls()
    return Processors(
        cores=cores,
        busy_share=None if busy is None or not cores else min(busy / cores, 1.0),
        user_share=_of(_mean(machine["user"]), cores),
        system_share=_of(_mean(machine["system"]), cores),
        process_cores=own,
        sibling_cores=sibling_cores,
        other_cores=other,
        crowded_share=_mean((machine["runnable"].drop_nulls() > cores).cast(pl.Float64)) if cores else None,
        switches_per_s=_of(_sum(timed["context_switches"]), _sum(timed["seconds"])),
        op_cores={int(op): float(mean) for op, mean in means.iter_rows()},
    )


def siblings(processes: dict[int, float], hosts: dict[int, str | None]) -> dict[int, float]:
    """What the other captured ranks of the same host take. An unnamed host is shared with nobody."""
    totals: dict[str, float] = {}
    for rank, cores in processes.items():
        if (host := hosts.get(rank)) is not None:
            totals[host] = totals.get(host, 0.0) + cores
    return {
        rank: totals.get(host, 0.0) - processes.get(rank, 0.0) if host is not None else 0.0
        for rank, host in hosts.items()
    }


def process_cores(rows: pl.DataFrame) -> float | None:
    """Mean use of the rank's own process."""
    return _mean(with_busy(rows).filter(pl.col("scope") == "process")["busy"])


def _of(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _sum(values: pl.Series) -> float | None:
    return float(values.sum()) if values.null_count() < len(values) else None


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return float(mean) if isinstance(mean, (int, float)) else None
