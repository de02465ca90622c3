"""Calls at which ranks meet, and the clocks of the ranks, as these calls tell them.

All members of a call end together. So the ends of common calls say how the clocks of ranks differ, as well as a replay
needs to know it: a difference that is a little wrong counts a little waiting as transfer, or the other way round.
"""

from __future__ import annotations

import polars as pl

from stepscope.analysis.cluster.calls.matched import matched_calls
from stepscope.analysis.cluster.calls.paired import paired_calls
from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.store.run_store import RunStore

_COLUMNS = ("call", "rank", "slice", "arrival_ns", "end_ns")


def meetings(store: RunStore, ranks: list[int], known: SpilledRows | None = None) -> pl.DataFrame:
    """Call, rank, slice, arrival_ns and end_ns of each member among these ranks, of calls with at least two.

    ``all_came_ns`` is when the last of them came, on the rank's own clock: all end together, and it took the shortest.
    Who has matched the calls already gives them.
    """
    if known is not None:
        rows = known.of_ranks(ranks).select(_COLUMNS)
    else:
        collective, paired = (calls.select(_COLUMNS) for calls in (matched_calls(store), paired_calls(store)))
        first = int(collective["call"].to_numpy().max(initial=0)) + 1
        rows = pl.concat([collective, paired.with_columns(pl.col("call") + first)], how="vertical_relaxed")
    rows = rows.filter(pl.col("rank").is_in(ranks) & pl.col("slice").is_not_null())
    shortest = (pl.col("end_ns") - pl.col("arrival_ns")).min().over("call")
    rows = rows.filter(pl.len().over("call") > 1).with_columns(all_came_ns=pl.col("end_ns") - shortest)
    return rows.sort("call", "rank")


def clock_shifts(rows: pl.DataFrame, begin: dict[int, int]) -> dict[int, int]:
    """What to subtract from the clock of each rank. Ranks that meet nobody begin when the first one does.

    >>> rows = pl.DataFrame({"call": [1, 1, 2, 2], "rank": [0, 1, 0, 1], "end_ns": [100, 1100, 200, 1201]})
    >>> clock_shifts(rows, {0: 50, 1: 1040, 2: 7})
    {0: 0, 1: 1000, 2: -43}
    """
    first = min(begin)
    shifts = {first: 0}
    while True:
        known = pl.col("rank").is_in(list(shifts))
        shift = pl.col("rank").replace_strict(shifts, default=0, return_dtype=pl.Int64)
        aligned = rows.filter(known).group_by("call").agg(aligned=(pl.col("end_ns") - shift).mean())
        new = (
            rows.filter(~known)
            .join(aligned, on="call")
            .group_by("rank")
            .agg(shift=(pl.col("end_ns") - pl.col("aligned")).median().floor().cast(pl.Int64))
        )
        if new.is_empty():
            break
        shifts |= dict(new.select("rank", "shift").iter_rows())
    return {rank: shifts.get(rank, moment - begin[first]) for rank, moment in sorted(begin.items())}
