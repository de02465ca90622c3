"""``dataset.csv``: pieces of work of the input pipeline by operation and stage."""

from __future__ import annotations

import polars as pl

from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout import columns

#: Parts of handing over a batch that MindSpore's data engine times, in the documents' words.
_BATCH_STAGES = {"get_us": "pipeline", "push_us": "push", "total_us": "batch"}


def dataset(data: RankData) -> pl.DataFrame | None:
    """Work in the pipeline as it was recorded piece by piece; of MindSpore's on a host, the handing over of batches."""
    rows = _pieces(data)
    if rows.is_empty():
        rows = _batches(data)
    return None if rows.is_empty() else rows.with_columns(pl.lit("").alias("Custom Info")).select(columns.DATASET)


def _pieces(data: RankData) -> pl.DataFrame:
    is_work = (pl.col("phase").cast(pl.String) == "data") & (pl.col("kind") == "annotation")
    return (
        data.scan("slices")
        .filter(is_work & pl.col("type").is_not_null())
        .group_by(pl.col("type").cast(pl.String).alias("Operation"), pl.col("name").cast(pl.String).alias("Stage"))
        .agg(pl.len().alias("Occurrences"), (pl.col("dur_ns").mean() / 1000).round(2).alias("Avg. time (us)"))
        .sort("Operation", "Stage")
        .collect()
    )


def _batches(data: RankData) -> pl.DataFrame:
    rows = data.store.scan("pipeline_batches", [data.rank]).collect()
    feeds_device = not data.store.scan("pipeline_ops", [data.rank]).filter(pl.col("sink")).head(1).collect().is_empty()
    operation = "DeviceQueue" if feeds_device else "DatasetIterator"
    return pl.DataFrame(
        [
            {"Operation": operation, "Stage": stage, "Occurrences": len(times), "Avg. time (us)": times.mean()}
            for column, stage in _BATCH_STAGES.items()
            if len(times := rows[column].drop_nulls())
        ]
    )
