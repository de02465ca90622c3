"""How far apart steps end: a host that runs ahead marks steps that are shorter than what the device needs for them."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.analysis.foundation.rank_cache import cached_per_rank
from stepscope.analysis.foundation.step_marks import step_marks
from stepscope.analysis.foundation.work import Work, work_of
from stepscope.arrays import Int64s
from stepscope.facts.steps import steps_facts
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore


def paced(marks: pl.DataFrame, work: Work) -> tuple[Int64s, Int64s]:
    """Start and end of steps in time order: each ends with its mark or its last work, and begins behind the one before.

    The ends are those of the step trace: max(host end, device end).
    """
    number, last = marks["step"].to_numpy(), marks["host_end_ns"].to_numpy().copy()
    if work.on_device and len(number):
        order = np.argsort(number, kind="stable")
        place = np.minimum(np.searchsorted(number[order], work.step), len(number) - 1)
        inside = number[order][place] == work.step
        np.maximum.at(last, order[place[inside]], work.end[inside])
    before = np.concatenate((last[:1], np.maximum.accumulate(last)[:-1]))
    first = marks["host_start_ns"].to_numpy()
    start = np.where(np.arange(len(first)) == 0, first, np.maximum(first, before))
    return start, np.maximum(last, start)


def host_ran_ahead(store: RunStore, rank: int) -> list[Note]:
    """A note where the device needs notably longer for a step than its mark lasts."""
    marked, needed = _medians(store, rank)
    if needed <= marked * steps_facts().ahead.longer_than_mark:
        return []
    return [Note("host_ran_ahead", {"mark": f"{marked / 1e6:,.3f}", "device": f"{needed / 1e6:,.3f}"}, rank=rank)]


@cached_per_rank
def _medians(store: RunStore, rank: int) -> tuple[float, float]:
    """How long the mark of a typical step lasts, and how long its device needs for it, in nanoseconds."""
    marks = step_marks(store, rank).drop_nulls("host_end_ns")
    if marks.is_empty():
        return 0.0, 0.0
    start, end = paced(marks, work_of(store, rank))
    usual = ~(marks["warm_up"] | marks["incomplete"]).to_numpy()
    usual = usual if usual.any() else np.ones(len(marks), np.bool_)
    marked = float(np.median((marks["host_end_ns"] - marks["host_start_ns"]).to_numpy()[usual]))
    return marked, float(np.median((end - start)[usual]))
