"""``dataset.csv``: pieces of work of the input pipeline by operation and stage."""

from __future__ import annotations

import polars as pl

from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout import columns


def dataset(data: RankData) -> pl.DataFrame | None:
    """Pieces of work of the pipeline by operation and stage."""
    rows = (
        data.scan("slices")
        .filter(
            (pl.col("phase").cast(pl.String) == "data")
            & (pl.col("kind") == "annotation")
            & pl.col("type").is_not_null()
        )
        .group_by(pl.col("type").cast(pl.String).alias("Operation"), pl.col("name").cast(pl.String).alias("Stage"))
        .agg(pl.len().alias("Occurrences"), (pl.col("dur_ns").mean() / 1000).round(2).alias("Avg. time (us)"))
        .with_columns(pl.lit("").alias("Custom Info"))
        .sort("Operation", "Stage")
        .collect()
    )
    return None if rows.is_empty() else rows.select(columns.DATASET)
