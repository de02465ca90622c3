"""Who waited for whom in communication, how long, and for what that one itself waited (docs/metrics/cluster.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from stepscope.analysis.cluster.calls.matched import matched_calls
from stepscope.analysis.cluster.calls.paired import paired_calls
from stepscope.analysis.cluster.waiting.on_planes import plane_waits
from stepscope.store.run_store import RunStore

#: ``start_ns`` and ``wait_ns`` on the clock of ``rank``; ``came_ns`` is when ``blames`` came, on its own clock.
WAIT: Final = {
    "rank": pl.Int32,
    "slice": pl.Int64,
    "step": pl.Int64,
    "start_ns": pl.Int64,
    "wait_ns": pl.Int64,
    "blames": pl.Int32,
    "came_ns": pl.Int64,
}
_CALL: Final = ["rank", "slice"]
_KEY: Final = (pl.col("rank").cast(pl.Int32), pl.col("slice").cast(pl.Int64))
_WAIT_OF_CALL: Final = (*_CALL, "step", "wait_ns")


@dataclass(frozen=True)
class Waits:
    """``rows`` of ``WAIT``, one per rank and call in which it waited."""

    rows: pl.DataFrame
    _judged: tuple[pl.DataFrame, ...]

    @cached_property
    def known(self) -> pl.DataFrame:
        """All slices that were judged."""
        return pl.concat([frame.select(_KEY) for frame in self._judged]).unique()


def waits(store: RunStore, matched: pl.DataFrame | None = None, paired: pl.DataFrame | None = None) -> Waits:
    """Waits of all ranks; callers pass calls already matched.

    Waits that a rank recorded itself take precedence over those inferred by comparing ranks: they also name ranks that
    were not captured. ``came_ns`` is null for those.
    """
    matched = matched_calls(store) if matched is None else matched
    paired = paired_calls(store) if paired is None else paired
    recorded = plane_waits(store)
    rows = [waited(matched, recorded), waited(paired, recorded)]
    if not recorded.is_empty():
        rows.append(with_arrival(recorded, matched, paired))
    return Waits(pl.concat(rows).sort("rank", "start_ns", "slice"), (matched, paired, recorded))


def waited(calls: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
    """Waits in matched calls, less those that were recorded. Members are sorted: the one that came last is first."""
    came = pl.col("arrival_ns").first().over("call")
    rows = calls.lazy().select(*_WAIT_OF_CALL, came_ns=came, start_ns="arrival_ns", blames="last_rank")
    rows = rows.filter(pl.col("wait_ns") > 0)
    if not recorded.is_empty():
        rows = rows.join(recorded.lazy().select(_CALL), on=_CALL, how="anti")
    return rows.select(pl.col(name).cast(kind) for name, kind in WAIT.items()).collect()


def with_arrival(recorded: pl.DataFrame, *compared: pl.DataFrame) -> pl.DataFrame:
    """Recorded waits, with when the one waited for came: it has a row of the same call where it was captured."""
    numbered = [frame.select(*_CALL, "arrival_ns", "call", of=pl.lit(index)) for index, frame in enumerate(compared)]
    calls = pl.concat(numbered).with_columns(call=pl.struct("of", "call")).drop("of")
    arrivals = calls.select("call", blames="rank", came_ns="arrival_ns")
    told = recorded.join(calls.drop("arrival_ns"), on=_CALL, how="left", maintain_order="left")
    told = told.join(arrivals, on=["call", "blames"], how="left", maintain_order="left")
    return told.select(pl.col(name).cast(kind) for name, kind in WAIT.items())
