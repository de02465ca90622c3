"""Whether a run holds single kernels, or whole phases of a step recorded as one."""

from __future__ import annotations

import polars as pl

from stepscope.store.run_store import RunStore


def has_single_kernels(store: RunStore) -> bool:
    """Whether kernels belong to launches or operators, or to a core; else they may be whole phases recorded as one."""
    told = pl.any_horizontal(pl.col("correlation", "operator", "core").is_not_null())
    kind = pl.col("kind").cast(pl.String)
    single = store.scan("slices").filter((kind == "operator") | ((kind == "kernel") & told))
    return not single.select("slice").head(1).collect().is_empty()
