"""The units of a device that each kernel runs on: by name on a GPU, by counters on an NPU."""

from __future__ import annotations

import re

import polars as pl

from stepscope.facts.flops import flops_facts
from stepscope.store.run_store import RunStore


def with_units(store: RunStore, rank: int, kernels: pl.DataFrame, device_kind: str | None) -> pl.DataFrame:
    """Kernels with ``on_tensor_cores`` (null where unknown), ``short`` (32-bit numbers cut by an NPU), ``split``
    (32-bit numbers in several parts on a GPU) and ``full`` (32-bit numbers in full on its matrix units), instead of
    their names.
    """
    table = flops_facts()
    metrics = [*table.tensor_cores.counters, table.short_float32.metric]
    counters = store.scan("pmu", [rank]).select("slice", pl.col("metric").cast(pl.String), "value")
    values = counters.filter(pl.col("metric").is_in(metrics)).collect()
    is_short = values["metric"] == table.short_float32.metric
    short = values.filter(is_short)["slice"]
    used = values.filter(~is_short).group_by("slice").agg(on_tensor_cores=pl.col("value").max() > 0)
    no = pl.lit(False)
    kernels = kernels.with_columns(short=pl.col("slice").is_in(short.implode()))
    if len(used):
        return kernels.join(used, on="slice", how="left").with_columns(split=no, full=no).drop("name")
    if device_kind != "gpu":
        return kernels.with_columns(on_tensor_cores=pl.lit(None, pl.Boolean), split=no, full=no).drop("name")
    names = kernels["name"].drop_nulls().unique()
    texts = names.cast(pl.String).to_list()
    units = {
        "on_tensor_cores": [on_tensor_cores(name) for name in texts],
        "split": [splits(name) for name in texts],
        "full": [bool(re.search(table.tensor_cores.full_float32, name)) for name in texts],
    }
    by_name = pl.DataFrame({"name": names, **units}, schema_overrides=dict.fromkeys(units, pl.Boolean))
    return kernels.join(by_name, on="name", how="left").drop("name")


def on_tensor_cores(name: str) -> bool:
    """Whether a kernel of this name computes on tensor cores."""
    return re.search(flops_facts().tensor_cores.pattern, name) is not None


def splits(name: str) -> bool:
    """Whether a kernel of this name computes 32-bit products as several products of TF32.

    >>> splits("fmha_cutlassF_f32_aligned_64x64_rf_sm80"), splits("fmha_cutlassF_f16_aligned_64x64_rf_sm80")
    (True, False)
    """
    return re.search(flops_facts().split_float32.pattern, name) is not None
