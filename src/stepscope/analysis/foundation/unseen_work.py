"""Work from before the window that the file does not show, seen by what it holds up (docs/metrics/steps.md).

A profiler that starts in a running job, or an excerpt of its trace, lacks what was launched before. A stream works in
order: where its first slice had been launched and did not begin although nothing else ran, something unseen did.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import union
from stepscope.analysis.foundation.rank_tables import links_of, slices_of
from stepscope.analysis.foundation.work import Work
from stepscope.arrays import Bools, Int64s
from stepscope.facts.steps import steps_facts
from stepscope.store.run_store import RunStore


def unseen_work(store: RunStore, work: Work, first_step: int) -> tuple[int, int]:
    """From when to when unseen work kept the device from the first step's; an empty stretch if nothing hints at it."""
    nothing = (0, 0)
    if not work.on_device or not len(work.start):
        return nothing
    first = _first_of_streams(work)
    first = first[work.step[first] == first_step]
    launched, launch_end = _launch_ends(store, work.rank, work.slice[first])
    first, ready = first[launched], launch_end[launched]
    busy = union(work.start, work.end)
    # What began earlier may still run, on another stream or on the host: then nothing stood still.
    earlier = np.searchsorted(busy.start, work.start[first], side="left") - 1
    since = np.where(earlier >= 0, np.maximum(busy.end[np.maximum(earlier, 0)], ready), ready)
    limits = steps_facts().unseen_work
    own_end = work.end[work.step == first_step].max(initial=0)
    lag = work.start[first] - since
    held = (lag > limits.least_us * 1000) & (lag > limits.least_share * (own_end - since))
    if not held.any():
        return nothing
    last = np.flatnonzero(held)[np.argmax(work.start[first[held]])]
    return int(since[last]), int(work.start[first[last]])


def _first_of_streams(work: Work) -> Int64s:
    """Position of the slice of each stream that starts first."""
    order = np.argsort(work.start, kind="stable")
    _, first = np.unique(work.track[order], return_index=True)
    return np.asarray(order[first], np.int64)


def _launch_ends(store: RunStore, rank: int, slices: Int64s) -> tuple[Bools, Int64s]:
    """For each slice whether its launch is known, and when the call returned."""
    calls = links_of(store, rank).filter((pl.col("kind") == "launch") & pl.col("to_slice").is_in(slices.tolist()))
    ends = (
        slices_of(store, rank)
        .filter(pl.col("slice").is_in(calls["from_slice"].to_list()))
        .select(from_slice=pl.col("slice").cast(pl.Int64), end=pl.col("start_ns") + pl.col("dur_ns"))
        .collect()
    )
    end_of = dict(calls.join(ends, on="from_slice").select("to_slice", "end").iter_rows())
    call_ends = [end_of.get(number) for number in slices.tolist()]
    known = np.array([end is not None for end in call_ends], np.bool_)
    return known, np.array([end or 0 for end in call_ends], np.int64)
