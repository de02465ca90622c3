"""The columns of the vendor's ``step_trace_time.csv``, computed anew from the events by the vendor's rules.

They stand beside our own fields, which differ where ours is the better definition (docs/metrics/steps.md). The vendor
has no rule for a host that computes by itself: there they are our own fields.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.foundation.intervals import difference, joined, union
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.work import COMMUNICATION, COMPUTE, ranks_of, work_of
from stepscope.analysis.steps import steps
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore


class VendorStep(msgspec.Struct, frozen=True):
    """One line of the file; microseconds."""

    rank: int
    step: int
    computing_us: float
    communication_not_overlapped_us: float
    overlapped_us: float
    communication_us: float
    free_us: float
    stage_us: float
    bubble_us: float
    communication_not_overlapped_exclude_receive_us: float
    preparing_us: float


def vendor_step_trace(store: RunStore, *, ranks: Sequence[int] | None = None) -> Answer[pl.DataFrame]:
    """One row per rank and step that has device work."""
    rows = [row for rank in ranks_of(store, ranks) for row in _rank(store, rank)]
    return Answer(pl.DataFrame([msgspec.structs.asdict(row) for row in rows]))


def _rank(store: RunStore, rank: int) -> list[VendorStep]:
    return _on_device(store, rank) if work_of(store, rank).on_device else _on_host(store, rank)


def _on_host(store: RunStore, rank: int) -> list[VendorStep]:
    """Steps of a host that computes by itself; the span of a step is its window there."""
    try:
        rows = steps(store, ranks=[rank]).data
    except NoAnswerError:
        return []
    exposed, bubble = pl.col("exposed_communication_us"), pl.col("bubble_us")
    return [
        VendorStep(**row)
        for row in rows.filter(pl.col("computing_us") + pl.col("communication_us") > 0)
        .select(
            "rank",
            "step",
            "computing_us",
            "overlapped_us",
            "communication_us",
            "free_us",
            "stage_us",
            "bubble_us",
            pl.col("preparing_us").fill_null(0.0),
            communication_not_overlapped_us=exposed,
            communication_not_overlapped_exclude_receive_us=(exposed - bubble).round(3),
        )
        .iter_rows(named=True)
    ]


def _on_device(store: RunStore, rank: int) -> list[VendorStep]:
    work = work_of(store, rank)
    steps = []
    for step, host_start in step_marks(store, rank).select("step", "host_start_ns").iter_rows():
        mine = work.step == step
        compute, communication = mine & work.of(COMPUTE), mine & work.of(COMMUNICATION)
        if not (compute | communication).any():
            continue
        computing = union(work.start[compute], work.end[compute])
        communicating = union(work.start[communication], work.end[communication])
        busy = joined(computing, communicating)
        alone = difference(communicating, computing)
        first, last = int(busy.start[0]), int(busy.end[-1])
        receives = mine & work.receives
        bubble = int((work.end[receives] - work.start[receives]).sum())
        times = (
            computing.length,
            alone.length,
            communicating.length - alone.length,
            communicating.length,
            last - first - busy.length,
            last - first - bubble,
            bubble,
            alone.length - bubble,
            first - host_start,
        )
        steps.append(VendorStep(rank, step, *(time / 1000 for time in times)))
    return steps
