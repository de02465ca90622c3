"""Length of the launch queues: one more when a call begins, one less when the device takes the slice up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from stepscope.analysis.foundation.launched import Launched
from stepscope.analysis.launches.types import Queue
from stepscope.arrays import NONE, Float64s, Int64s
from stepscope.facts.launches import launches_facts
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class Curves:
    """Per key: how long and how high the curve is, and time at certain heights."""

    key: Int64s
    changes: Int64s
    span: Int64s
    mean: Float64s
    most: Int64s
    empty: Int64s
    full: Int64s


def curves(key: Int64s, begin: Int64s, end: Int64s, full: int = 2**62) -> Curves:
    """The number of open intervals over time, per key, from the first begin to the last end.

    An interval that ends before it begins, for want of aligned clocks, ends as it begins.

    >>> both = curves(np.zeros(2, np.int64), np.array([0, 10]), np.array([20, 40]), full=2)
    >>> both.mean.tolist(), both.most.tolist(), both.full.tolist(), both.changes.tolist()
    ([1.25], [2], [10], [4])
    """
    if not len(key):
        nothing = np.empty(0, np.int64)
        return Curves(nothing, nothing, nothing, np.empty(0), nothing, nothing, nothing)
    owner = np.concatenate((key, key))
    time = np.concatenate((begin, np.maximum(begin, end)))
    change = np.repeat(np.array([1, -1], np.int64), len(key))
    order = np.lexsort((change, time, owner))
    # Each key ends at height 0, so one sum over all of them serves each.
    owner, time, height = owner[order], time[order], np.cumsum(change[order])
    first = np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1])))
    last = np.append(first[1:], len(owner)) - 1
    lasts = np.diff(time, append=time[-1:])
    lasts[last] = 0
    new = np.concatenate(([True], (owner[1:] != owner[:-1]) | (time[1:] != time[:-1])))
    span = time[last] - time[first]
    return Curves(
        key=owner[first],
        changes=np.add.reduceat(new.astype(np.int64), first),
        span=span,
        mean=np.where(span > 0, np.add.reduceat(height * lasts, first) / np.maximum(span, 1), 0.0),
        most=np.maximum.reduceat(np.where(lasts > 0, height, 0), first),
        empty=np.add.reduceat(np.where(height == 0, lasts, 0), first),
        full=np.add.reduceat(np.where(height >= full, lasts, 0), first),
    )


def queues(store: RunStore, rank: int, work: Launched) -> list[Queue]:
    """Per stream, over the whole capture."""
    known = np.flatnonzero(work.call != NONE)
    track, begin = work.track[known], work.call_start[known]
    waiting = curves(track, begin, work.start[known], launches_facts().queue.full_length)
    outstanding = curves(track, begin, work.end[known])
    names = dict(store.scan("tracks", [rank]).select("track", pl.col("name").cast(pl.String)).collect().iter_rows())
    launches = np.bincount(work.track[work.first], minlength=int(track.max(initial=0)) + 1)
    return [
        Queue(
            rank=rank,
            track=own,
            stream=names.get(own) or str(own),
            launches=int(launches[own]),
            changes=int(waiting.changes[row]),
            length_mean=float(waiting.mean[row]),
            length_max=int(waiting.most[row]),
            empty_share=_share(waiting.empty[row], waiting.span[row]),
            full_us=int(waiting.full[row]) / 1000,
            full_share=_share(waiting.full[row], waiting.span[row]),
            outstanding_mean=float(outstanding.mean[row]),
            outstanding_max=int(outstanding.most[row]),
        )
        for row, own in enumerate(waiting.key.tolist())
    ]


def _share(part: np.int64, whole: np.int64) -> float:
    return float(part / whole) if whole > 0 else 0.0
