"""The work of a rank and the calls that launched it: one call, one or many slices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.host_activity import Host
from stepscope.analysis.foundation.rank_tables import links_of
from stepscope.analysis.foundation.work import Work
from stepscope.arrays import NONE, Bools, Int64s
from stepscope.store.run_store import RunStore

#: Stands for a moment that is not known.
UNKNOWN: Final = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Launched:
    """Work slices in order of their start; ``call`` is an index into the arrays of the host, NONE if none is known."""

    host: Host
    slice: Int64s
    track: Int64s
    start: Int64s
    end: Int64s
    step: Int64s  # NONE outside every step
    lane: pl.Series
    name: pl.Series
    type: pl.Series
    call: Int64s
    operator: Int64s  # index on the host of the framework's slice that asked for it, where a link tells

    def of(self, lane: str) -> Bools:
        """Which slices are compute, communication or copies."""
        return (self.lane == lane).to_numpy()

    @cached_property
    def on_host(self) -> Bools:
        """Operators and collectives that the host itself carries out."""
        return np.not_equal(self.host.row_of(self.slice), NONE)

    @cached_property
    def call_start(self) -> Int64s:
        """Per slice the start of its launch, else UNKNOWN."""
        return self._of_call(self.host.start)

    @cached_property
    def call_end(self) -> Int64s:
        """Per slice the end of its launch, else UNKNOWN."""
        return self._of_call(self.host.end)

    def _of_call(self, values: Int64s) -> Int64s:
        of_slice = np.full(len(self.call), UNKNOWN, np.int64)
        known = self.call != NONE
        of_slice[known] = values[self.call[known]]
        return of_slice

    @cached_property
    def first(self) -> Int64s:
        """Places of the slices that are the first of their call to start."""
        known = np.flatnonzero(self.call != NONE)
        first = np.full(len(self.host.slice), NONE, np.int64)
        first[self.call[known][::-1]] = known[::-1]
        return np.sort(first[first != NONE])

    @cached_property
    def found_empty(self) -> Bools:
        """Per slice, whether its launch began when its track had run out of work."""
        empty: Bools = (running_reach(self.track, self.end) <= self.call_start) & (self.call != NONE)
        return empty

    @cached_property
    def thread(self) -> Int64s:
        """Per slice the thread that launched it, or that carries it out; NONE if not known."""
        host_row = np.where(self.call != NONE, self.call, self.host.row_of(self.slice))
        return _at(self.host.thread, host_row)

    @cached_property
    def operator_thread(self) -> Int64s:
        """Per slice the thread of the operator behind it, else NONE."""
        return _at(self.host.thread, self.operator)


def _at(values: Int64s, rows: Int64s) -> Int64s:
    values_there = np.full(len(rows), NONE, np.int64)
    known = rows != NONE
    values_there[known] = values[rows[known]]
    return values_there


def running_reach(track: Int64s, end: Int64s) -> Int64s:
    """Per slice, in order of start, the latest end among the earlier slices of its track; UNKNOWN if there is none.

    >>> running_reach(np.array([1, 2, 1, 1]), np.array([9, 5, 4, 12])).tolist()[2:]
    [9, 9]
    """
    reach = np.full(len(end), UNKNOWN, np.int64)
    for own in np.unique(track):
        mine = np.flatnonzero(track == own)
        reach[mine[1:]] = np.maximum.accumulate(end[mine])[:-1]
    return reach


def launched_of(store: RunStore, rank: int, host: Host, work: Work, window: tuple[int, int] | None = None) -> Launched:
    """The work of a rank, or what of it touches a window, with its launches."""
    order = np.arange(len(work.slice))
    if window is not None:
        order = np.flatnonzero((work.start < window[1]) & (work.end > window[0]))
    order = order[np.lexsort((work.slice[order], work.start[order]))]
    ids = work.slice[order]
    arrows = links_of(store, rank)
    return Launched(
        host=host,
        slice=ids,
        track=work.track[order],
        start=work.start[order],
        end=work.end[order],
        step=work.step[order],
        lane=work.lane[order],
        name=work.name[order],
        type=work.type[order],
        call=host.row_of(_source(arrows.filter(pl.col("kind") == "launch"), ids)),
        operator=host.row_of(_source(arrows.filter(pl.col("kind") == "operator_launch"), ids)),
    )


def _source(arrows: pl.DataFrame, ids: Int64s) -> Int64s:
    """Per slice id where the first arrow to it comes from, NONE if there is none."""
    targets, sources = arrows["to_slice"].to_numpy()[::-1], arrows["from_slice"].to_numpy()[::-1]
    known = np.full(_beyond(targets, ids), NONE, np.int64)
    known[targets] = sources
    source: Int64s = known[ids]
    return source


def _beyond(*numbers: Int64s) -> int:
    return max(int(part.max(initial=0)) for part in numbers) + 1
