"""One clock for all ranks of a run: the offset and drift of each rank are applied when its times are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import Int64s
from stepscope.store.run_store import RunStore

_PER_BILLION: Final = 1_000_000_000


@dataclass(frozen=True)
class RankClock:
    """How times of a rank become times of the run. The drift counts from the rank's first slice."""

    offset_ns: int = 0
    drift_ppb: int = 0
    anchor_ns: int = 0

    def to_run(self, times: Int64s) -> Int64s:
        """Absolute times of the run's clock; order is kept, so what did not overlap still does not."""
        if self.drift_ppb == 0:
            return times if self.offset_ns == 0 else times + self.offset_ns
        # Whole seconds and the rest apart, because their product with the drift must fit 64 bits.
        seconds, rest = np.divmod(times - self.anchor_ns, _PER_BILLION)
        drifted = seconds * self.drift_ppb + np.floor_divide(rest * self.drift_ppb, _PER_BILLION)
        return np.asarray(times + self.offset_ns + drifted, np.int64)

    def moment(self, time_ns: int) -> int:
        """One absolute time of the run's clock."""
        return int(self.to_run(np.array([time_ns], np.int64))[0])


@dataclass(frozen=True)
class RunClock:
    """Zero of the timeline, its end, and the clock of each rank."""

    origin_ns: int
    end_ns: int
    ranks: dict[int, RankClock]

    def relative(self, rank: int, times: Int64s) -> Int64s:
        """Times of a rank as nanoseconds since the run's origin."""
        return self.ranks[rank].to_run(times) - self.origin_ns

    def at(self, rank: int, time_ns: int | None) -> int | None:
        """One time of a rank as nanoseconds since the run's origin."""
        return None if time_ns is None else self.ranks[rank].moment(time_ns) - self.origin_ns


def run_clock(store: RunStore) -> RunClock:
    """The clock of a run, from what ``ranks`` says."""
    rows = store.scan("ranks").collect().to_dicts()
    clocks = {rank: RankClock() for rank in store.ranks}
    clocks |= {row["rank"]: _rank_clock(row) for row in rows}
    first = [clocks[row["rank"]].moment(row["first_ns"]) for row in rows if row["first_ns"] is not None]
    last = [clocks[row["rank"]].moment(row["last_ns"]) for row in rows if row["last_ns"] is not None]
    if not first:
        first, last = _span_of_counters(store, clocks)
    return RunClock(min(first, default=0), max(last, default=0), clocks)


def _rank_clock(row: dict[str, Any]) -> RankClock:
    return RankClock(row["clock_offset_ns"] or 0, row["clock_drift_ppb"] or 0, row["first_ns"] or 0)


def _span_of_counters(store: RunStore, clocks: dict[int, RankClock]) -> tuple[list[int], list[int]]:
    """A capture may hold curves only."""
    spans = store.scan("counters").group_by("rank").agg(first=pl.col("time_ns").min(), last=pl.col("time_ns").max())
    rows = spans.collect().to_dicts()
    return [clocks[row["rank"]].moment(row["first"]) for row in rows], [
        clocks[row["rank"]].moment(row["last"]) for row in rows
    ]
