"""``dataset.csv`` and ``minddata_pipeline_raw/summary``: the input pipeline, its queues and what they tell."""

from __future__ import annotations

from typing import Any

import polars as pl

from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout import columns

_NONE = -1


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


def pipeline_raw(data: RankData) -> pl.DataFrame | None:
    """One row per operator with the samples of its output queue."""
    operators = _operators(data)
    if operators is None:
        return None
    return pl.DataFrame(
        [
            {
                "op_id": row["op"],
                "op_type": row["kind"] or row["name"],
                "num_workers": row["workers"],
                "output_queue_size": str(row["sizes"]) if row["sizes"] else "",
                "output_queue_average_size": row["average"],
                "output_queue_length": row["capacity"],
                "output_queue_usage_rate": row["usage"],
                "sample_interval": row["interval_ms"],
                "parent_id": row["parent"],
                "children_id": str(row["children"]) if row["children"] else "",
            }
            for row in operators
        ],
        infer_schema_length=None,
    ).select(columns.MINDDATA_PIPELINE_RAW)


def pipeline_summary(data: RankData) -> dict[str, list[Any]] | None:
    """Keys of the documented summary; −1 is what does not apply."""
    operators = _operators(data)
    if operators is None:
        return None
    batches = data.store.scan("pipeline_batches", [data.rank]).sort("batch").collect()
    cpu = _cpu_per_operator(data)
    workers = [row["workers"] or 1 for row in operators]
    busy = [cpu.get(row["op"], float(_NONE)) for row in operators]
    found: dict[str, list[Any]] = {
        "op_ids": [row["op"] for row in operators],
        "op_names": [_short(row["name"]) for row in operators],
        "pipeline_ops": [f"{_short(row['name'])}(id={row['op']})" for row in operators],
        "num_workers": workers,
        "queue_average_size": [_or_none(row["average"]) for row in operators],
        "queue_utilization_pct": [_or_none(row["usage"], 100) for row in operators],
        "queue_empty_freq_pct": [_or_none(row["empty"], 100) for row in operators],
        "children_ids": [row["children"] for row in operators],
        "parent_id": [_NONE if row["parent"] is None else row["parent"] for row in operators],
        "avg_cpu_pct": busy,
        "per_pipeline_time": [_mean(batches, "get_us")],
        "per_push_queue_time": [_mean(batches, "push_us")],
        "per_batch_time": [_mean(batches, "total_us")],
        "avg_cpu_pct_per_worker": [
            round(value / count, 2) if value >= 0 else float(_NONE) for value, count in zip(busy, workers, strict=True)
        ],
    }
    return found


def _operators(data: RankData) -> list[dict[str, Any]] | None:
    rows = data.store.scan("pipeline_ops", [data.rank]).sort("op").collect()
    if rows.is_empty():
        return None
    samples = data.store.scan("pipeline_samples", [data.rank]).sort("op", "time_ns").collect()
    sizes = {op: group for (op,), group in samples.group_by(["op"], maintain_order=True)}
    found = []
    for row in rows.iter_rows(named=True):
        mine = sizes.get(row["op"])
        queue = mine["queue"].drop_nulls() if mine is not None else pl.Series(dtype=pl.Float64)
        average = queue.mean() if len(queue) else None
        average = round(float(average), 4) if isinstance(average, (int, float)) else None
        gaps = mine["time_ns"].diff().drop_nulls() if mine is not None else pl.Series(dtype=pl.Int64)
        interval = gaps.median() if len(gaps) else None
        found.append(
            {
                **row,
                "name": str(row["name"]),
                "sizes": [int(value) for value in queue.to_list()],
                "average": average,
                "usage": round(average / row["capacity"], 4) if average is not None and row["capacity"] else None,
                "empty": int((queue == 0).sum()) / len(queue) if len(queue) else None,
                "interval_ms": round(float(interval) / 1e6, 3) if isinstance(interval, (int, float)) else None,
                "children": rows.filter(pl.col("parent") == row["op"])["op"].to_list(),
            }
        )
    return found


def _cpu_per_operator(data: RankData) -> dict[int, float]:
    rows = (
        data.store.scan("cpu", [data.rank])
        .filter(pl.col("scope").cast(pl.String) == "op")
        .group_by("id")
        .agg((pl.col("user") + pl.col("system")).mean().alias("busy"))
        .collect()
    )
    return {int(op): round(float(busy), 2) for op, busy in rows.iter_rows() if op is not None and busy is not None}


def _mean(batches: pl.DataFrame, column: str) -> float:
    """Milliseconds without the first batch."""
    values = batches[column].slice(1).drop_nulls()
    mean = values.mean() if len(values) else None
    return round(float(mean) / 1000, 3) if isinstance(mean, (int, float)) else float(_NONE)


def _short(name: str) -> str:
    return name.removesuffix("Op")


def _or_none(value: float | None, scale: float = 1) -> float:
    return float(_NONE) if value is None else round(value * scale, 2)
