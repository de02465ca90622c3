"""Blocks of memory with the order in which they came and went; what is alive at a moment is a look at that order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import Bools, Int64s
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore

_COLUMNS: Final = (
    "device",
    "pool",
    "address",
    "bytes",
    "requested_bytes",
    "alloc_ns",
    "free_ns",
    "alloc_seq",
    "free_seq",
    "before_window",
    "lost_free",
    "operator",
    "stack",
    "category",
)
_BEFORE: Final = -1
_FREE_OF_OLDER, _ALLOC, _FREE_OF_SAME_TIME = range(3)


@dataclass(frozen=True)
class Blocks:
    """Lives of blocks. Event p of the order is the one that leads from state p to state p + 1.

    ``born`` and ``died`` are places; a block from before the window was born at -1, one that stays dies at the end.
    """

    frame: pl.DataFrame
    born: Int64s
    died: Int64s
    time: Int64s
    running: Int64s  # bytes in use in each state; one more than there are events

    @cached_property
    def bytes(self) -> Int64s:
        return self.frame["bytes"].to_numpy()

    @cached_property
    def older(self) -> Bools:
        """Which blocks were allocated before the window."""
        return np.asarray(self.born == _BEFORE)

    @cached_property
    def stays(self) -> Bools:
        """Which blocks are alive at the end."""
        return np.asarray(self.died == len(self.time))

    @cached_property
    def alloc_ns(self) -> Int64s:
        """Time of birth; for older blocks the beginning of time."""
        return self._time_of(self.born, np.iinfo(np.int64).min)

    @cached_property
    def free_ns(self) -> Int64s:
        """Time of death; for those that stay the end of time."""
        return self._time_of(self.died, np.iinfo(np.int64).max)

    def _time_of(self, event: Int64s, otherwise: int) -> Int64s:
        inside = (event >= 0) & (event < len(self.time))
        if not len(self.time):
            return np.full(len(event), otherwise, np.int64)
        return np.where(inside, self.time[np.where(inside, event, 0)], otherwise)

    def alive(self, state: int) -> Bools:
        """Which blocks are alive in a state."""
        return np.asarray((self.born < state) & (self.died >= state))

    def state_at(self, moment: int) -> int:
        """The state after all events up to and with a moment."""
        return int(np.searchsorted(self.time, moment, side="right"))

    def running_without(self, blocks: Bools) -> Int64s:
        """Bytes in use in each state if these blocks had never been."""
        change = np.zeros(len(self.time) + 2, np.int64)
        np.add.at(change, self.born[blocks] + 1, -self.bytes[blocks])
        np.add.at(change, self.died[blocks] + 1, self.bytes[blocks])
        return np.asarray(self.running + np.cumsum(change)[:-1])


def blocks_of(store: RunStore, rank: int, notes: list[Note]) -> pl.DataFrame:
    """The recorded blocks of a rank; one whose free was lost ends where its address is given out again."""
    rows = store.scan("allocations", [rank]).filter(pl.col("bytes").is_not_null()).select(_COLUMNS).collect()
    unborn = pl.col("alloc_ns").is_null()
    rows = rows.with_columns(
        before_window=pl.col("before_window").fill_null(False) | unborn,
        lost_free=pl.col("lost_free").fill_null(False),
    ).with_columns(
        pl.col("device").fill_null("unknown"),
        pl.when("before_window").then(None).otherwise(pl.col("alloc_ns", "alloc_seq")).name.keep(),
    )
    if rows["lost_free"].any():
        rows = _with_lost_ends(rows)
    at_once = (pl.col("free_ns") == pl.col("alloc_ns")) & (pl.col("free_seq") < pl.col("alloc_seq"))
    backwards = (pl.col("free_ns") < pl.col("alloc_ns")).fill_null(False) | at_once.fill_null(False)
    good = rows.filter(~backwards)
    if len(good) < len(rows):
        notes.append(Note("memory_block_backwards", rank=rank, count=len(rows) - len(good)))
    return good


def _with_lost_ends(rows: pl.DataFrame) -> pl.DataFrame:
    here = ["device", "pool", "address"]
    rows = rows.sort("alloc_ns", "alloc_seq", nulls_last=False, maintain_order=True)
    lost = pl.col("lost_free") & pl.col("free_ns").is_null()
    return rows.with_columns(
        free_ns=pl.when(lost).then(pl.col("alloc_ns").shift(-1).over(here)).otherwise("free_ns"),
        free_seq=pl.when(lost).then(pl.col("alloc_seq").shift(-1).over(here)).otherwise("free_seq"),
    )


def ordered(frame: pl.DataFrame) -> Blocks:
    """Put the events of these blocks into order: by time, then by number where every event has one."""
    older = frame["before_window"].to_numpy()
    freed = frame["free_ns"].is_not_null().to_numpy()
    alloc, free = frame["alloc_ns"].fill_null(0).to_numpy(), frame["free_ns"].fill_null(0).to_numpy()
    births, deaths = np.flatnonzero(~older), np.flatnonzero(freed)
    time = np.concatenate((alloc[births], free[deaths]))
    same_time = ~older[deaths] & (alloc[deaths] == free[deaths])
    kind = np.concatenate((np.full(len(births), _ALLOC), np.where(same_time, _FREE_OF_SAME_TIME, _FREE_OF_OLDER)))
    number = _numbers(frame, births, deaths)
    order = np.lexsort((kind, number, time))
    rank_of_event = np.empty(len(order), np.int64)
    rank_of_event[order] = np.arange(len(order))
    born = np.full(len(frame), _BEFORE, np.int64)
    died = np.full(len(frame), len(order), np.int64)
    born[births], died[deaths] = rank_of_event[: len(births)], rank_of_event[len(births) :]
    size = frame["bytes"].to_numpy()
    change = np.concatenate((size[births], -size[deaths]))[order]
    running = np.cumsum(np.append(int(size[older].sum()), change))
    return Blocks(frame, born, died, time[order], running)


def _numbers(frame: pl.DataFrame, births: Int64s, deaths: Int64s) -> Int64s:
    alloc, free = frame["alloc_seq"], frame["free_seq"]
    known = alloc.is_not_null().to_numpy()[births].all() and free.is_not_null().to_numpy()[deaths].all()
    if not known:
        return np.zeros(len(births) + len(deaths), np.int64)
    return np.concatenate((alloc.fill_null(0).to_numpy()[births], free.fill_null(0).to_numpy()[deaths]))
