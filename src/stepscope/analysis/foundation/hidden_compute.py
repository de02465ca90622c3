"""Captures whose operators are known from tables alone, so that their timeline does not tell when a device computed."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.foundation.rank_cache import cached_per_rank
from stepscope.store.run_store import RunStore

# MindSpore's analysis lists AI CPU kernels with their times; those of AI Core are in a file that may be missing.
_READER: Final = "mindinsight"
_AI_CPU: Final = "AI_CPU"


@cached_per_rank
def compute_is_hidden(store: RunStore, rank: int) -> bool:
    """Whether the steps of a rank hold AI CPU kernels and no other: no step of a network is without AI Core."""
    if not any(part.reader == _READER for part in store.manifest.parts if part.rank == rank):
        return False
    kernels = store.scan("slices", [rank]).filter((pl.col("kind") == "kernel") & pl.col("step").is_not_null())
    cores = kernels.select(pl.col("core").cast(pl.String).unique()).collect()["core"].to_list()
    return cores == [_AI_CPU]
