"""Hardware counters of the kernels of a group, as means."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from stepscope.facts.operators import operators_facts
from stepscope.store.run_store import RunStore


def with_counters(
    store: RunStore, rank: int, rows: pl.DataFrame, groups: pl.DataFrame, keys: Sequence[str]
) -> pl.DataFrame:
    """Groups with ``pmu``, a structure of means; shares, rates and bandwidths are weighted by duration."""
    rules = operators_facts().pmu
    values = store.scan("pmu", [rank]).select("slice", pl.col("metric").cast(pl.String), "value").collect()
    values = values.filter(~pl.col("metric").str.contains(rules.left_out) & pl.col("value").is_finite())
    if values.is_empty():
        return groups
    values = values.join(rows.select("slice", "dur_ns", *keys), on="slice")
    if values.is_empty():
        return groups
    plain = pl.col("value").mean()
    weighted = (pl.col("value") * pl.col("dur_ns")).sum() / pl.col("dur_ns").sum()
    shares = pl.col("metric").str.contains(rules.weighted).first() & (pl.col("dur_ns").sum() > 0)
    means = values.group_by(*keys, "metric").agg(mean=pl.when(shares).then(weighted).otherwise(plain))
    wide = means.sort("metric").pivot("metric", index=list(keys), values="mean")
    metrics = [name for name in wide.columns if name not in keys]
    wide = wide.select(*keys, pmu=pl.struct(metrics))
    return groups.join(wide, on=list(keys), how="left", nulls_equal=True)
