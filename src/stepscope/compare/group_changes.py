"""Kernels, categories, modules and collectives of both sides by name, with their recorded durations per step."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from stepscope.arrays import Bools, Float64s
from stepscope.compare.comparison import CommunicationChange, GroupChange
from stepscope.compare.credit import COMPUTING, EXPOSED_COMMUNICATION
from stepscope.compare.noise import standing_out
from stepscope.compare.side import Side
from stepscope.facts.comparison import comparison_facts


def group_changes(first: Side, second: Side, by: str) -> list[GroupChange]:
    """Computing by ``kernel``, ``category`` or ``module``; where nothing has one, there is none."""
    grouped = _grouped(first, second, by, COMPUTING)
    if grouped.is_empty():
        return []
    stands_out = _standing_out(first, second, by, COMPUTING, grouped)
    return [
        GroupChange(
            name=row["name"],
            a_count=_mean(row["count"], first),
            b_count=_mean(row["count_b"], second),
            a_us=_mean_ns(row["dur_ns"], first) / 1000,
            b_us=_mean_ns(row["dur_ns_b"], second) / 1000,
            delta_us=(_mean_ns(row["dur_ns_b"], second) - _mean_ns(row["dur_ns"], first)) / 1000,
            ratio=_mean(row["dur_ns_b"], second) / _mean(row["dur_ns"], first) if row["dur_ns"] else None,
            significant=bool(different),
        )
        for row, different in _largest_first(first, second, grouped, stands_out)
    ]


def communication_changes(first: Side, second: Side) -> list[CommunicationChange]:
    """Collectives and point-to-point calls by kind."""
    grouped = _grouped(first, second, "kernel", EXPOSED_COMMUNICATION)
    stands_out = _standing_out(first, second, "kernel", EXPOSED_COMMUNICATION, grouped)
    changes = []
    for row, different in _largest_first(first, second, grouped, stands_out):
        a_ns, b_ns = _mean_ns(row["dur_ns"], first), _mean_ns(row["dur_ns_b"], second)
        a_exposed, b_exposed = _mean_ns(row["credit_ns"], first), _mean_ns(row["credit_ns_b"], second)
        changes.append(
            CommunicationChange(
                name=row["name"],
                a_count=_mean(row["count"], first),
                b_count=_mean(row["count_b"], second),
                a_us=a_ns / 1000,
                b_us=b_ns / 1000,
                delta_us=(b_ns - a_ns) / 1000,
                a_exposed_us=a_exposed / 1000,
                b_exposed_us=b_exposed / 1000,
                delta_exposed_us=(b_exposed - a_exposed) / 1000,
                a_bytes=_mean(row["bytes"], first) or None,
                b_bytes=_mean(row["bytes_b"], second) or None,
                significant=bool(different),
            )
        )
    return changes


def _grouped(first: Side, second: Side, by: str, part: str) -> pl.DataFrame:
    """Sums over all counted steps of both sides; those of the second end in ``_b``."""
    sums = []
    for side in (first, second):
        rows = side.calls.filter((pl.col("part") == part) & pl.col(by).is_not_null())
        sums.append(
            rows.group_by(pl.col(by).cast(pl.String).alias("name")).agg(
                pl.len().cast(pl.Int64).alias("count"), pl.col("dur_ns", "credit_ns", "bytes").sum().cast(pl.Int64)
            )
        )
    joined = sums[0].join(sums[1], on="name", how="full", suffix="_b", coalesce=True)
    return joined.with_columns(pl.exclude("name").fill_null(0)).sort("name")


def _standing_out(first: Side, second: Side, by: str, part: str, grouped: pl.DataFrame) -> Bools:
    number = grouped.select("name").with_row_index("row")
    samples: list[Float64s] = []
    for side in (first, second):
        rows = side.calls.filter((pl.col("part") == part) & pl.col(by).is_not_null())
        rows = rows.select("sample", "dur_ns", name=pl.col(by).cast(pl.String)).join(number, on="name")
        sums = side.per_sample(
            rows["row"].to_numpy(), rows["sample"].to_numpy(), rows["dur_ns"].to_numpy(), len(grouped)
        )
        samples.append(sums / np.maximum(side.ranks_per_sample, 1))
    if min(first.samples, second.samples) < 2:  # one step has no noise to compare with
        return np.zeros(len(grouped), np.bool_)
    facts = comparison_facts()
    period = float(first.parts_ns["period"].mean() or 0)  # type: ignore[arg-type]
    larger = np.maximum(samples[0].mean(axis=1), samples[1].mean(axis=1))
    least = np.maximum(larger * facts.least_share_of_operator, period * facts.least_share_of_step)
    return standing_out(samples[0], samples[1], least, facts.chance)


def _largest_first(
    first: Side, second: Side, grouped: pl.DataFrame, stands_out: Bools
) -> list[tuple[dict[str, Any], bool]]:
    rows = list(zip(grouped.iter_rows(named=True), stands_out.tolist(), strict=True))
    return sorted(rows, key=lambda row: -abs(row[0]["dur_ns_b"] / second.pairs - row[0]["dur_ns"] / first.pairs))


def _mean(total: int, side: Side) -> float:
    return round(total / side.pairs, 3)


def _mean_ns(total: int, side: Side) -> int:
    return round(total / side.pairs)
