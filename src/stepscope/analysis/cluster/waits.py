"""Who waited for whom in communication, how long, and for what that one itself waited (docs/metrics/cluster.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from stepscope.analysis.cluster.matched_calls import matched_calls
from stepscope.analysis.cluster.paired_calls import paired_calls
from stepscope.analysis.cluster.plane_waits import plane_waits
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


@dataclass(frozen=True)
class Waits:
    """``rows`` of ``WAIT``, one per rank and call in which it waited; ``known`` are all slices that were judged."""

    rows: pl.DataFrame
    known: pl.DataFrame


def waits(store: RunStore, matched: pl.DataFrame | None = None, paired: pl.DataFrame | None = None) -> Waits:
    """Waits of all ranks; who has matched the calls already gives them.

    What a rank recorded itself counts before what follows from comparing ranks: it also knows of ranks of which there
    are no files. ``came_ns`` is null for those.
    """
    matched = matched_calls(store) if matched is None else matched
    paired = paired_calls(store) if paired is None else paired
    compared = pl.concat([_compared(matched), _compared(paired)])
    recorded = plane_waits(store)
    # The same call, so the one blamed has a row of it, too, where it was captured.
    call_of = compared.select("rank", "slice", "call")
    arrivals = compared.select("call", blames="rank", came_ns="arrival_ns")
    recorded = recorded.join(call_of, on=_CALL, how="left", maintain_order="left").join(
        arrivals, on=["call", "blames"], how="left", maintain_order="left"
    )
    waited = compared.filter(pl.col("wait_ns") > 0).join(recorded.select(_CALL), on=_CALL, how="anti")
    waited = waited.select(*_CALL, "step", "wait_ns", "came_ns", start_ns="arrival_ns", blames="last_rank")
    every = [frame.select(pl.col(name).cast(kind) for name, kind in WAIT.items()) for frame in (waited, recorded)]
    rows = pl.concat(every).sort("rank", "start_ns", "slice")
    known = pl.concat(
        [frame.select(_CALL).cast({"rank": pl.Int32, "slice": pl.Int64}) for frame in (compared, recorded)]
    )
    return Waits(rows, known.unique())


def _compared(calls: pl.DataFrame) -> pl.DataFrame:
    """Matched calls whose numbers hold among calls of all kinds, with the arrival of the last member."""
    number = pl.struct(pl.col("kind").is_in(["send", "receive"]).alias("pair"), pl.col("call").alias("number"))
    last = calls.group_by("call").agg(came_ns=pl.col("arrival_ns").sort_by("took_ns", "rank").first())
    joined = calls.join(last, on="call", maintain_order="left")
    return joined.select("rank", "slice", "step", "arrival_ns", "wait_ns", "last_rank", "came_ns", call=number)
