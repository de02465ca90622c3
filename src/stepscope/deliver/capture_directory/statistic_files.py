"""``op_statistic.csv``, ``api_statistic.csv`` and ``operator_details.csv``: by type, by call, and call by call."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.api_statistics import api_statistics
from stepscope.analysis.operators import operators
from stepscope.analysis.operators.host import calls
from stepscope.deliver.capture_directory.cells import micro, shapes
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.errors import NoAnswerError
from stepscope.layout import columns


def op_statistic(data: RankData) -> pl.DataFrame | None:
    """Kernels by type and core; operators of the host where there is no device."""
    side = "device" if data.work.on_device else "host"
    try:
        rows = operators(data.store, ranks=[data.rank], steps=data.steps, by="type", side=side).data
    except NoAnswerError:
        return None
    return rows.select(
        **{
            "Device_id": pl.lit(data.device_id),
            "OP Type": pl.coalesce("type", "name"),
            "Core Type": pl.col("core"),
            "Count": pl.col("count"),
            "Total Time(us)": pl.col("total_us").round(3),
            "Min Time(us)": pl.col("min_us").round(3),
            "Avg Time(us)": pl.col("avg_us").round(3),
            "Max Time(us)": pl.col("max_us").round(3),
            "Ratio(%)": (pl.col("share") * 100).round(3),
        }
    ).select(columns.OP_STATISTIC)


def api_statistic(data: RankData) -> pl.DataFrame | None:
    """Calls of runtime and driver."""
    try:
        rows = api_statistics(data.store, ranks=[data.rank], steps=data.steps).data
    except NoAnswerError:
        return None
    return rows.select(
        **{
            "Device_id": pl.lit("host"),
            "Level": pl.col("level"),
            "API Name": pl.col("name"),
            "Time(us)": pl.col("total_us").round(3),
            "Count": pl.col("count"),
            "Avg(us)": pl.col("avg_us").round(3),
            "Min(us)": pl.col("min_us").round(3),
            "Max(us)": pl.col("max_us").round(3),
            "Variance": pl.col("variance_us2").round(3),
        }
    ).select(columns.API_STATISTIC)


def operator_details(data: RankData) -> pl.DataFrame | None:
    """Operators of the host in the order of their calls; needs recorded shapes."""
    rows = calls(data.store, data.rank, data.steps, by="shape").sort("slice")
    if rows.is_empty() or rows["input_shapes"].null_count() == len(rows):
        return None
    slices = data.store.scan("slices", [data.rank]).select("slice", "start_ns", "stack")
    stacks = data.store.scan("stacks", [data.rank]).select("stack", "frames")
    rows = (
        rows.lazy()
        .join(slices, on="slice", how="left", maintain_order="left")
        .join(stacks, on="stack", how="left", maintain_order="left")
        .sort("start_ns", "slice")
        .collect()
    )
    # The documents show the innermost frame first.
    frames = pl.col("frames").cast(pl.String).str.split("\n").list.reverse().list.join(";\n").fill_null("")
    table = rows.select(
        **{
            "Name": pl.col("name").cast(pl.String),
            "Input Shapes": shapes("input_shapes"),
            "Call Stack": frames,
            "Host Self Duration(us)": micro(pl.col("self_ns")),
            "Host Total Duration(us)": micro(pl.col("dur_ns")),
            "Device Self Duration(us)": micro(pl.col("device_self_ns")),
            "Device Total Duration(us)": micro(pl.col("device_total_ns")),
            # Cores of an NPU; no other device has them.
            "Device Self Duration With AICore(us)": pl.lit("0.000"),
            "Device Total Duration With AICore(us)": pl.lit("0.000"),
        }
    )
    return table.select(columns.OPERATOR_DETAILS[data.backend])
