"""``kernel_details.csv``: every kernel and communication call of a rank in time order."""

from __future__ import annotations

import polars as pl

from stepscope.analysis.foundation.work import COMMUNICATION, COPY
from stepscope.deliver.capture_directory.cells import MISSING, micro, shapes, text, types
from stepscope.deliver.capture_directory.communication_calls import communication_calls
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout import columns

# Vendor tools know communication by this word.
_COMMUNICATION_CORE = "HCCL"


def kernel_details(data: RankData) -> pl.DataFrame | None:
    """The table, or None where nothing ran.

    On a host that computes by itself an operator counts with its own time: rows add up to what was computed.
    """
    rows = _rows(data)
    if rows.is_empty():
        return None
    # Operators of a host hold others, so there the end before is the latest of all ends before.
    end = pl.col("end_ns").shift(1) if data.work.on_device else pl.col("end_ns").cum_max().shift(1)
    rows = rows.sort("start_ns", "slice").with_columns(
        wait_ns=(pl.col("start_ns") - end).clip(lower_bound=0).fill_null(0)
    )
    default_core = "GPU" if data.work.on_device and data.about.get("device_kind") == "gpu" else "HOST_CPU"
    core = (
        pl.when(pl.col("lane") == COMMUNICATION)
        .then(pl.lit(_COMMUNICATION_CORE))
        .otherwise(pl.coalesce(pl.col("core").cast(pl.String), pl.lit(default_core)))
    )
    kernels = rows.select(
        _step=pl.col("step").cast(pl.String).fill_null(""),
        **{
            "Model ID": pl.lit(MISSING),
            "Task ID": text("correlation"),
            "Stream ID": text("stream"),
            "Name": pl.coalesce("call", pl.col("name").cast(pl.String)),
            "Type": pl.coalesce(
                "operation",
                pl.col("type").cast(pl.String),
                pl.col("operator").cast(pl.String),
                pl.col("name").cast(pl.String),
            ),
            "OP State": pl.lit(MISSING),
            "Accelerator Core": core,
            # A tab keeps spreadsheets from rounding the number.
            "Start Time(us)": pl.concat_str(micro(pl.col("start_ns")), pl.lit("\t")),
            "Duration(us)": micro(pl.col("dur_ns")),
            "Wait Time(us)": micro(pl.col("wait_ns")),
            "Block Num": pl.col("blocks").cast(pl.String).fill_null(MISSING),
            "Mix Block Num": pl.lit(MISSING),
            "HF32 Eligible": pl.lit(MISSING),
            "Input Shapes": shapes("input_shapes"),
            "Input Data Types": types("dtypes"),
            "Input Formats": pl.lit(MISSING),
            "Output Shapes": shapes("output_shapes"),
            "Output Data Types": pl.lit(MISSING),
            "Output Formats": pl.lit(MISSING),
            "Context ID": pl.lit(MISSING),
        },
    )
    wanted = [
        name for name in columns.KERNEL_DETAILS if not (_level0(data) and name in columns.KERNEL_DETAILS_FROM_LEVEL1)
    ]
    step = {columns.STEP_ID[data.backend]: pl.col("_step")} if data.has_steps else {}
    return kernels.select(**step, **{name: pl.col(name) for name in wanted})


def _level0(data: RankData) -> bool:
    return str(data.about.get("level") or "").lower() in ("level0", "levelnone")


def _rows(data: RankData) -> pl.DataFrame:
    further = data.scan("slices").select("slice", "correlation", "stream", "output_shapes")
    rows = data.executed.lazy().filter(pl.col("lane") != COPY)
    for beside in (further, _blocks(data), _call_names(data).lazy()):
        rows = rows.join(beside, on="slice", how="left", maintain_order="left")
    return rows.collect()


def _call_names(data: RankData) -> pl.DataFrame:
    """Names and types of communication calls in the documented form, under which the other files list them."""
    rows = [(call.slice, call.name, call.type) for call in communication_calls(data) if not call.is_hccl]
    schema = {"slice": pl.UInt32, "call": pl.String, "operation": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _blocks(data: RankData) -> pl.LazyFrame:
    """Thread blocks of a CUDA kernel, from its grid."""
    grid = pl.col("json").str.extract_groups(r'"grid"\s*:\s*\[\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\]')
    numbers = [grid.struct.field(str(axis)).cast(pl.Int64, strict=False) for axis in (1, 2, 3)]
    with_grid = data.store.scan("details", [data.rank]).filter(pl.col("json").str.contains('"grid"', literal=True))
    return with_grid.select("slice", blocks=numbers[0] * numbers[1] * numbers[2])
