"""Fetching of the next batch on the device: it should run beside the compute of the step before."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import intersection, union
from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.foundation.work import COMPUTE
from stepscope.analysis.launches.types import GetNext
from stepscope.arrays import NONE, Bools
from stepscope.facts.launches import launches_facts


def get_next_rows(rank: int, work: Launched, waits: pl.DataFrame) -> list[GetNext]:
    """Per step: count, time, and how much of it lay beside other compute."""
    fetches = is_get_next(work)
    other = work.of(COMPUTE) & ~fetches
    compute = union(work.start[other], work.end[other])
    start = np.concatenate((work.start[fetches], waits["start_ns"].to_numpy()))
    end = np.concatenate((work.end[fetches], waits["end_ns"].to_numpy()))
    step = np.concatenate((work.step[fetches], waits["step"].to_numpy()))
    limit = launches_facts().get_next.least_overlapped_share
    rows = []
    for own in np.unique(step).tolist():
        mine = step == own
        whole = union(start[mine], end[mine])
        beside = intersection(whole, compute).length
        share = beside / whole.length if whole.length else 1.0
        number = None if own == NONE else own
        rows.append(GetNext(rank, number, int(mine.sum()), whole.length / 1000, beside / 1000, share, share < limit))
    return rows


def is_get_next(work: Launched) -> Bools:
    """Which work slices fetch a batch, by name or type."""
    fetching = np.zeros(len(work.slice), np.bool_)
    pattern = re.compile("|".join(launches_facts().get_next.patterns))
    for words in (work.name, work.type):
        matching = [word for word in words.unique().cast(pl.String).drop_nulls() if pattern.search(word)]
        if matching:
            fetching |= words.cast(pl.String).is_in(matching).fill_null(False).to_numpy()
    return fetching
