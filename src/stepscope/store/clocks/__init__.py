"""The clocks of a run: estimated when it is written, from calls whose members end together; applied when it is read.

Times stay those of the rank's own clock. ``ranks`` says what to add (docs/metrics/cluster.md, "Clocks").
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import Int64s
from stepscope.facts.clocks import clocks_facts
from stepscope.store.clocks.alignment import Alignment, align
from stepscope.store.clocks.anchors import SMALL, anchors
from stepscope.store.notes import Note

#: ``ranks.clock_state``: by what the columns beside it are known, or why they are not.
REFERENCE: Final = "reference"
ALIGNED: Final = "aligned"
AGREES: Final = "agrees"  # as far as can be told: what it is off by is within the error
TOO_FEW_CALLS: Final = "too_few_calls"
UNCERTAIN: Final = "uncertain"
CONTRADICTED: Final = "contradicted"
#: States without an offset, with the note that tells of them.
REFUSED: Final = {
    TOO_FEW_CALLS: "clocks_too_few_calls",
    UNCERTAIN: "clocks_uncertain",
    CONTRADICTED: "clocks_contradicted",
}
_ESTIMATED: Final = ("clock_offset_ns", "clock_drift_ppb", "clock_error_ns", "clock_calls", "clock_state")


def with_clocks(ranks: pl.DataFrame, *collectives: pl.LazyFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Rows of ``ranks`` with what can be told about their clocks, and notes on it. Calls may come in pieces.

    Ranks of one host have one clock, unless their calls say otherwise. One host, or one rank, has nothing to be
    compared with, and offsets that a file states itself stay.
    """
    if ranks.filter(pl.col("clock_state").is_null())["clock_offset_ns"].is_not_null().any():
        return ranks, []
    ranks = ranks.with_columns(pl.lit(None, ranks.schema[name]).alias(name) for name in _ESTIMATED)
    clock_of = _clocks_by_host(ranks)
    if clock_of["domain"].n_unique() < 2:
        return ranks, []
    calls = anchors(collectives, clock_of)
    estimate = _estimated(calls, _count(clock_of))
    if estimate is not None and _ranks_differ(estimate, clock_of):
        clock_of = ranks.select("rank", domain=pl.int_range(pl.len(), dtype=pl.Int64))
        calls = anchors(collectives, clock_of)
        estimate = _estimated(calls, _count(clock_of))
    judged = _judged(ranks, clock_of, estimate)
    return judged, _notes(judged)


def _estimated(calls: pl.DataFrame, clocks: int) -> Alignment | None:
    """From all calls, or from small ones alone where these reach every clock and tell more than all do together."""
    if calls.is_empty():
        return None
    estimate = align(calls, clocks)
    small = calls.filter(pl.col("size") == SMALL)
    if small.is_empty() or len(small) == len(calls):
        return estimate
    alone = align(small, clocks)
    enough = alone.connected.all() and (alone.calls >= clocks_facts().least_calls).all()
    return alone if enough and alone.error_ns.max() < estimate.error_ns.max() else estimate


def _clocks_by_host(ranks: pl.DataFrame) -> pl.DataFrame:
    """The number of each rank's clock; that of the host with most ranks is 0. Unknown hosts may all be different."""
    host = pl.col("host").cast(pl.String)
    named = pl.when(host.is_null()).then(pl.format("rank {}", "rank")).otherwise(pl.format("host {}", host))
    hosts = ranks.select("rank", name=named)
    sizes = hosts.group_by("name").agg(ranks=pl.len(), first=pl.min("rank"))
    order = sizes.sort("ranks", "first", descending=[True, False]).with_row_index("domain")
    numbers = hosts.join(order.select("name", pl.col("domain").cast(pl.Int64)), on="name", maintain_order="left")
    return numbers.select("rank", "domain")


def _count(clock_of: pl.DataFrame) -> int:
    return clock_of["domain"].n_unique()


def _ranks_differ(estimate: Alignment, clock_of: pl.DataFrame) -> bool:
    """Whether a rank is off by more than the error of the clock that it is said to have."""
    joined = estimate.ranks.join(clock_of, on="rank")
    error = estimate.error_ns[joined["domain"].to_numpy()]
    return bool((np.abs(joined["off_ns"].to_numpy()) > clocks_facts().own_clock_errors * error).any())


def _judged(ranks: pl.DataFrame, clock_of: pl.DataFrame, estimate: Alignment | None) -> pl.DataFrame:
    clock = clock_of["domain"].to_numpy()
    if estimate is None:
        state = np.where(clock == 0, REFERENCE, TOO_FEW_CALLS)
        return ranks.with_columns(clock_state=pl.Series(state).cast(ranks.schema["clock_state"]))
    first, last = (ranks[name].fill_null(estimate.middle_ns).to_numpy() for name in ("first_ns", "last_ns"))
    late_first, late_last = (estimate.shown_beyond_reference(clock, moment) for moment in (first, last))
    error = np.rint(estimate.error_ns[clock]).astype(np.int64)
    state = _states(estimate, clock, np.maximum(np.abs(late_first), np.abs(late_last)), error)
    counts, told = state == ALIGNED, ~np.isin(state, [*REFUSED, REFERENCE])
    drift = np.rint(-estimate.drift_ns_per_s[clock]).astype(np.int64)  # nanoseconds a second are parts per billion
    columns = {
        "clock_offset_ns": pl.Series(np.where(counts, -late_first, 0)),
        "clock_drift_ppb": pl.Series(np.where(counts, drift, 0)),
        "clock_error_ns": pl.Series(error),
    }
    masked = {name: pl.when(pl.Series(told)).then(column) for name, column in columns.items()}
    frame = ranks.with_columns(**masked, clock_calls=pl.Series(estimate.calls[clock]), clock_state=pl.Series(state))
    return frame.with_columns(pl.col(name).cast(ranks.schema[name]) for name in _ESTIMATED)


def _states(
    estimate: Alignment, clock: Int64s, late: Int64s, error: Int64s
) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    facts = clocks_facts()
    cases = [
        (clock == 0, REFERENCE),
        (~estimate.connected[clock] | (estimate.calls[clock] < facts.least_calls), TOO_FEW_CALLS),
        (error > facts.most_error_us * 1000, UNCERTAIN),
        (estimate.contradicted[clock] > facts.most_contradictions, CONTRADICTED),
        (late <= facts.applied_errors * error, AGREES),
    ]
    return np.select([case for case, _ in cases], [name for _, name in cases], ALIGNED)


def _notes(ranks: pl.DataFrame) -> list[Note]:
    """What was done, and where nothing could be done although hosts differ."""
    notes = []
    state = pl.col("clock_state").cast(pl.String)
    aligned = ranks.filter(state == ALIGNED)
    if len(aligned):
        widest, error, calls = (
            int(aligned.select(value).item())
            for value in (pl.col("clock_offset_ns").abs().max(), pl.max("clock_error_ns"), pl.min("clock_calls"))
        )
        told = {"offset_us": round(widest / 1000), "error_us": round(error / 1000), "calls": calls}
        notes.append(Note("clocks_aligned", told, count=len(aligned)))
    for reason, code in REFUSED.items():
        refused = ranks.filter((state == reason) & pl.col("host").is_not_null())
        if len(refused):
            hosts = refused["host"].cast(pl.String).unique().sort().to_list()
            notes.append(Note(code, {"hosts": _shortened(hosts)}, count=len(refused)))
    return notes


def _shortened(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
