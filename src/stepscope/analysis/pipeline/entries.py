"""One row per step, or per batch where steps cannot tell: how long it took, waited for data, and what it found.

Columns: number, first (left out of averages), period_us, get_us (taking the batch), wait_us (idle meanwhile), fill (of
the queue it took from), interval_us, gap_us (the interval where another step stands before it), copy_us, getnext_us.
Null is what nobody recorded. What ``steps`` tells of a step is taken from there: its period, its interval, its idle
time for data, and whether it counts.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.foundation.work import COPY, Work
from stepscope.analysis.pipeline.observed import Observed
from stepscope.analysis.pipeline.step_clock import step_clock
from stepscope.analysis.step_statistics import typical

_COLUMNS: Final = {
    "number": pl.Int64,
    "first": pl.Boolean,
    "period_us": pl.Float64,
    "get_us": pl.Float64,
    "wait_us": pl.Float64,
    "fill": pl.Int64,
    "interval_us": pl.Float64,
    "gap_us": pl.Float64,
    "copy_us": pl.Float64,
    "getnext_us": pl.Float64,
}


def batch_entries(seen: Observed) -> pl.DataFrame:
    """One row per batch. In sink mode the thread that feeds the device takes them, so nothing tells of training."""
    rows = seen.batches
    period = pl.col("time_ns").diff() / 1000
    if seen.mode == "sink" and rows["time_ns"].null_count():
        period = pl.col("total_us")
    return _complete(rows.select("first", "get_us", number="batch", period_us=period, wait_us="get_us", fill="queue"))


def step_entries(seen: Observed, work: Work | None) -> pl.DataFrame:
    """One row per step; ``work`` tells what the device did meanwhile."""
    marks = seen.marks
    if marks.is_empty():
        return _complete(pl.DataFrame())
    end = pl.max_horizontal("host_end_ns", "device_end_ns")
    rows = marks.select(number="step", before_ns=end.shift(1), forward_ns="forward_start_ns").join(
        seen.steps.select(
            "period_us",
            "interval_us",
            gap_us=pl.when(pl.int_range(pl.len()) > 0).then("interval_us"),
            number="step",
            first=~pl.col("step").is_in(typical(seen.steps)["step"].to_list()),
            idle_for_data_us=pl.col("idle_by_cause").struct.field("data_us"),
        ),
        on="number",
        how="left",
        maintain_order="left",
    )
    rows = _with_copies(rows, work)
    if seen.mode == "sink":
        rows = _with_device_queue(rows, seen)
    elif not seen.gets.is_empty():
        rows = _with_loader(rows, seen.gets, work)
    return _complete(_with_batches(rows, seen))


def _with_copies(rows: pl.DataFrame, work: Work | None) -> pl.DataFrame:
    """Copies between the end of a step and the next forward, where the capture has any copies at all."""
    if work is None or not work.on_device or not work.of(COPY).any():
        return rows
    known = rows.with_row_index("row").drop_nulls(["before_ns", "forward_ns"])
    copies = union(work.start[work.of(COPY)], work.end[work.of(COPY)])
    start = known["before_ns"].to_numpy()
    covered = copies.covered_within(start, np.maximum(start, known["forward_ns"].to_numpy()))
    copy_times = known.select("row", copy_us=pl.Series(covered / 1000))
    return rows.with_row_index("row").join(copy_times, on="row", how="left", maintain_order="left").drop("row")


def _with_device_queue(rows: pl.DataFrame, seen: Observed) -> pl.DataFrame:
    """Waits at the device's queue, its fill then, and the operator that takes from it."""
    for slices, name in ((seen.waits, "wait_us"), (seen.getnexts, "getnext_us")):
        inside = slices.drop_nulls("step")
        if not inside.is_empty():
            length = (pl.col("end_ns") - pl.col("start_ns")).sum() / 1000
            per_step = inside.group_by("step").agg(length.alias(name))
            rows = rows.join(per_step, left_on="number", right_on="step", how="left", maintain_order="left")
            rows = rows.with_columns(pl.col(name).fill_null(0.0))
    if "wait_us" in rows.columns:
        rows = rows.with_columns(get_us="wait_us")
    fills = device_fills(seen)
    moments = fills["time_ns"].to_numpy()
    clock = step_clock(seen.marks, seen.batches, moments)
    if clock is None or clock.by_batch:
        return rows
    emptiest = (
        fills.with_columns(clock.at(moments).alias("step"))
        .drop_nulls("step")
        .group_by("step")
        .agg(fill=pl.col("queue").min())
    )
    return rows.join(emptiest, left_on="number", right_on="step", how="left", maintain_order="left")


def device_fills(seen: Observed) -> pl.DataFrame:
    """Fill of the device's own queue each time it was asked."""
    return seen.samples.filter(pl.col("op").is_in(seen.sinks))


def _with_loader(rows: pl.DataFrame, gets: pl.DataFrame, work: Work | None) -> pl.DataFrame:
    """Time in a PyTorch loader. What it cost is the step's idle time for data; else what the device did not hide."""
    inside = gets.drop_nulls("step").sort("start_ns")
    start = inside["start_ns"].to_numpy()
    taken = union(start, inside["end_ns"].to_numpy())  # loaders may wrap each other
    busy = union(work.start, work.end) if work is not None and work.on_device else Intervals(start[:0], start[:0])
    length = taken.end - taken.start
    pieces = pl.DataFrame(
        {
            "number": inside["step"].to_numpy()[np.searchsorted(start, taken.start)],
            "get_us": length / 1000,
            "wait_us": (length - busy.covered_within(taken.start, taken.end)) / 1000,
        }
    )
    waits = pieces.group_by("number").sum()
    rows = rows.join(waits, on="number", how="left", maintain_order="left")
    hidden = pl.col("wait_us").fill_null(0.0)
    return rows.with_columns(pl.col("get_us").fill_null(0.0), wait_us=pl.coalesce("idle_for_data_us", hidden))


def _with_batches(rows: pl.DataFrame, seen: Observed) -> pl.DataFrame:
    """What was recorded per batch, where each belongs to a step: as said, or because there are as many of both."""
    batches = seen.batches
    if seen.mode == "sink" or batches.is_empty():
        return rows
    if batches["step"].null_count() < len(batches):
        per_step = (
            batches.drop_nulls("step")
            .group_by("step")
            .agg(pl.col("get_us").sum(), fill=pl.col("queue").min(), push_us=pl.col("push_us").sum())
        )
        batch_rows = rows.select("number").join(
            per_step, left_on="number", right_on="step", how="left", maintain_order="left"
        )
    elif len(batches) == len(rows):
        batch_rows = batches.select("get_us", "push_us", fill="queue")
    else:
        return rows
    rows = rows.with_columns(batch_rows["fill"])
    if "wait_us" not in rows.columns:
        rows = rows.with_columns(batch_rows["get_us"], batch_rows["get_us"].alias("wait_us"))
    if "copy_us" not in rows.columns and (batch_rows["push_us"] > 0).any():
        rows = rows.with_columns(batch_rows["push_us"].alias("copy_us"))
    return rows


def _complete(rows: pl.DataFrame) -> pl.DataFrame:
    return (
        rows.select(
            pl.col(name).cast(kind) if name in rows.columns else pl.lit(None, kind).alias(name)
            for name, kind in _COLUMNS.items()
        )
        if rows.columns
        else pl.DataFrame(schema=_COLUMNS)
    )
