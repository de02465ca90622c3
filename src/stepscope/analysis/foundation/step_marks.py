"""The steps of a rank as marked, with phases where marks lack them, and which steps are not typical."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.analysis.foundation.rank_cache import cached_summary_per_rank
from stepscope.analysis.foundation.rank_tables import slices_of
from stepscope.facts.steps import steps_facts
from stepscope.store.run_store import RunStore

_DEVICE: Final = ["kernel", "collective", "copy"]


@cached_summary_per_rank
def step_marks(store: RunStore, rank: int) -> pl.DataFrame:
    """Rows of ``steps`` of a rank in time order, with warm_up and incomplete decided."""
    marks = store.scan("steps", [rank]).filter(pl.col("host_start_ns").is_not_null()).sort("host_start_ns").collect()
    if marks.is_empty():
        return marks
    if marks["forward_start_ns"].null_count() == len(marks):
        marks = _with_host_phases(store, rank, marks)
    return marks.with_columns(
        warm_up=pl.coalesce("warm_up", _warm_up(marks)),
        incomplete=pl.coalesce("incomplete", _incomplete(store, rank, marks)),
    )


def _with_host_phases(store: RunStore, rank: int, marks: pl.DataFrame) -> pl.DataFrame:
    """Without device work, forward and backward are where their operators ran on the host."""
    start, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("dur_ns")
    phases = (
        slices_of(store, rank)
        .filter(pl.col("kind").is_in(["operator", "collective"]) & pl.col("step").is_not_null())
        .group_by("step")
        .agg(
            forward_start_ns=start.filter(pl.col("phase") == "forward").min(),
            backward_end_ns=end.filter(pl.col("phase") == "backward").max(),
        )
        .collect()
    )
    return marks.drop("forward_start_ns", "backward_end_ns").join(phases, on="step", how="left", maintain_order="left")


def _warm_up(marks: pl.DataFrame) -> pl.Series:
    """Leading steps that are far longer than the typical one."""
    limits = steps_facts().warm_up
    duration = marks["host_end_ns"] - marks["host_start_ns"]
    if len(marks) < limits.least_steps:
        return pl.Series([False] * len(marks))
    median = duration.median()
    assert isinstance(median, float)
    longer = duration > median * limits.longer_than_median
    leading = longer.cast(pl.UInt8).cum_min().cast(pl.Boolean)
    # A stall that comes again later is no warm-up.
    rest = duration.filter(~leading).max()
    if isinstance(rest, int):
        longer &= duration > rest * limits.longer_than_rest
        leading = longer.cast(pl.UInt8).cum_min().cast(pl.Boolean)
    most = int(len(marks) * limits.largest_share)
    warm_up: pl.Series = leading & (pl.int_range(len(marks), eager=True) < most)
    return warm_up


def _incomplete(store: RunStore, rank: int, marks: pl.DataFrame) -> pl.Series:
    """The last step, if the capture ended inside it: its mark is cut short, or work of the one before is missing."""
    complete = [False] * (len(marks) - 1)
    cut = len(marks) > 1 and (_mark_is_cut(marks) or _work_is_missing(store, rank, marks))
    return pl.Series([*complete, cut])


def _mark_is_cut(marks: pl.DataFrame) -> bool:
    """Whether the last mark is far shorter than the others."""
    duration = marks["host_end_ns"] - marks["host_start_ns"]
    typical = duration.head(len(marks) - 1).median()
    if not isinstance(typical, float) or duration[-1] is None:
        return False
    return bool(int(duration[-1]) < typical * steps_facts().incomplete.least_share_of_median)


def _work_is_missing(store: RunStore, rank: int, marks: pl.DataFrame) -> bool:
    """Whether the last step has far less device work than the one before, or no operator where that has some."""
    last_two = marks["step"].tail(2).to_list()
    counts = (
        slices_of(store, rank)
        .filter(pl.col("kind").is_in([*_DEVICE, "operator"]) & pl.col("step").is_in(last_two))
        .group_by("step", on_device=pl.col("kind").is_in(_DEVICE))
        .len()
        .collect()
    )
    slices_in = {(step, on_device): count for step, on_device, count in counts.iter_rows()}
    before, last = (slices_in.get((step, True), 0) for step in last_two)
    if last < before * steps_facts().incomplete.least_share_of_previous:
        return True
    before, last = (slices_in.get((step, False), 0) for step in last_two)
    return bool(last == 0 < before)
