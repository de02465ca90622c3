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
    """Means over the time of one rank's samples; None is what nobody recorded."""

    cores: int | None
    busy_share: float | None
    user_share: float | None
    system_share: float | None
    process_cores: float | None
    sibling_cores: float
    other_cores: float | None
    crowded_share: float | None  # of the time, with more runnable threads than cores
    switches_per_s: float | None
    op_cores: dict[int, float]

    @property
    def other_share(self) -> float | None:
        return None if self.other_cores is None or not self.cores else min(self.other_cores / self.cores, 1.0)


def with_lengths(rows: pl.DataFrame) -> pl.DataFrame:
    """Samples with ``length_ns``, the time that each is a mean of: since the one before, where the source is silent.

    The first of a user has none before it and is taken to be as long as usual.
    """
    since = pl.col("time_ns").diff().over("rank", "scope", "id", order_by="time_ns")
    lengths = rows.select(length=pl.coalesce("dur_ns", since))["length"]
    known = lengths.filter(lengths > 0)
    usual = int(known.sort()[len(known) // 2]) if len(known) else 1
    return rows.with_columns(length_ns=lengths.clip(lower_bound=0).fill_null(usual).cast(pl.Int64))


def mean_over_time(column: str) -> pl.Expr:
    """The mean of a column of samples, each by its length."""
    length = pl.when(pl.col(column).is_not_null()).then("length_ns").sum()
    return pl.when(length > 0).then((pl.col(column).cast(pl.Float64) * pl.col("length_ns")).sum() / length)


def p95_over_time(column: str) -> pl.Expr:
    """The smallest value that is not exceeded 95 % of the time."""
    known = pl.col(column).is_not_null()
    order = pl.col(column).filter(known).arg_sort()
    length = pl.col("length_ns").filter(known).gather(order)
    reached = length.cum_sum() * 100 >= length.sum() * 95
    return pl.col(column).filter(known).gather(order).filter(reached).first()


def with_busy(rows: pl.DataFrame) -> pl.DataFrame:
    """Samples with ``busy``: cores in user and system mode; where those are lost, what is neither idle nor waiting."""
    cores = cores_of(rows)
    rest = pl.lit(cores, pl.Float64) - pl.col("idle") - pl.col("io").fill_null(0.0)
    inverse = pl.when(pl.col("scope") == "machine").then(rest.clip(lower_bound=0))
    return rows.with_columns(
        pl.col("scope").cast(pl.String), busy=pl.coalesce(pl.col("user") + pl.col("system"), inverse)
    )


def cores_of(rows: pl.DataFrame) -> int | None:
    """The number of cores: the sum of the machine's shares; None if these sums differ."""
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
    busy, own = _mean(machine, "busy"), _mean(process, "busy")
    together = machine.select("time_ns", "busy", "length_ns").join(process.select("time_ns", own="busy"), on="time_ns")
    left = (pl.col("busy") - pl.col("own") - sibling_cores).clip(lower_bound=0)
    crowded = machine.drop_nulls("runnable").with_columns(crowded=pl.col("runnable") > (cores or 0))
    seconds = machine["time_ns"].diff().cast(pl.Float64) / 1e9
    timed = machine.with_columns(seconds=seconds).filter(pl.col("seconds") > 0)
    per_op = rows.filter((pl.col("scope") == "op") & pl.col("id").is_not_null())
    means = per_op.group_by("id").agg(busy=mean_over_time("busy")).drop_nulls()
    return Processors(
        cores=cores,
        busy_share=None if busy is None or not cores else min(busy / cores, 1.0),
        user_share=_of(_mean(machine, "user"), cores),
        system_share=_of(_mean(machine, "system"), cores),
        process_cores=own,
        sibling_cores=sibling_cores,
        other_cores=_mean(together.with_columns(other=left), "other"),
        crowded_share=_mean(crowded, "crowded") if cores else None,
        switches_per_s=_of(_sum(timed["context_switches"]), _sum(timed["seconds"])),
        op_cores={int(op): float(mean) for op, mean in means.iter_rows()},
    )


def siblings(processes: dict[int, float], hosts: dict[int, str | None]) -> dict[int, float]:
    """The cores that other captured ranks of the same host use; ranks with unknown hosts share none."""
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
    return _mean(with_busy(rows).filter(pl.col("scope") == "process"), "busy")


def _of(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _sum(values: pl.Series) -> float | None:
    return float(values.sum()) if values.null_count() < len(values) else None


def _mean(rows: pl.DataFrame, column: str) -> float | None:
    mean = rows.select(mean_over_time(column)).item()
    return None if mean is None else float(mean)
