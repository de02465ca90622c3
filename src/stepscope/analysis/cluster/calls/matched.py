"""Collective calls matched over the ranks that took part, and how long each of them waited (docs/metrics/cluster.md).

All members of a collective end together, whatever their clocks say. So the one that took the shortest came last; what
the others took longer, they waited. No clock of one rank is compared with that of another.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.cluster.calls.arrivals import arrivals
from stepscope.analysis.cluster.calls.recorded import recorded_calls
from stepscope.arrays import Int64s
from stepscope.store.call_numbers import with_call_numbers
from stepscope.store.run_store import RunStore

#: Between two ranks, and not of a whole group.
POINT_TO_POINT: Final = ("send", "receive", "send_receive")
_SORTED: Final = ["call", "took_ns", "rank"]


def matched_calls(store: RunStore, recorded: pl.LazyFrame | None = None) -> pl.DataFrame:
    """One row per call and member, of calls of which at least two members were captured.

    ``call`` numbers the calls. ``arrival_ns`` to ``end_ns`` is the member's part in it, ``took_ns`` long; of that it
    waited ``wait_ns`` for ``last_rank``. ``late_ns`` is how much later than the others it came itself: the median of
    their waits, less its own.
    """
    return with_waits(store, numbered_calls(store, recorded).filter(pl.col("rank").n_unique().over("call") > 1))


def numbered_calls(store: RunStore, recorded: pl.LazyFrame | None = None) -> pl.DataFrame:
    """All calls of groups, or those of a piece of them; those with the same ``call`` belong together."""
    names = pl.col("group", "kind").cast(pl.String)
    calls = (
        (recorded_calls(store) if recorded is None else recorded)
        .filter(~pl.col("kind").cast(pl.String).is_in(POINT_TO_POINT) & (pl.col("end_ns") > pl.col("start_ns")))
        .select("rank", "slice", names, "seq", "step", "start_ns", "end_ns", "bytes", "stream")
        .collect()
    )
    return with_call_numbers(calls)


def with_waits(store: RunStore, calls: pl.DataFrame) -> pl.DataFrame:
    """Numbered calls with what ``matched_calls`` tells of them, whatever they were matched by."""
    if calls.is_empty():
        return _with_waits(calls.with_columns(arrival_ns="start_ns"))
    return _with_waits(calls.join(arrivals(store, calls), on=["rank", "slice"], maintain_order="left"))


def _with_waits(calls: pl.DataFrame) -> pl.DataFrame:
    calls = calls.with_columns(took_ns=pl.col("end_ns") - pl.col("arrival_ns")).sort(_SORTED)
    calls = calls.with_columns(
        wait_ns=pl.col("took_ns") - pl.col("took_ns").first().over("call"),
        last_rank=pl.col("rank").first().over("call"),
        members=pl.len().over("call"),
    )
    return calls.with_columns(late_ns=pl.Series(_lateness(calls["call"].to_numpy(), calls["wait_ns"].to_numpy())))


def _lateness(call: Int64s, wait: Int64s) -> Int64s:
    """The median wait of the other members, less the own wait; waits stand in ascending order within a call.

    >>> _lateness(np.array([1, 1, 1, 2, 2]), np.array([0, 9, 12, 0, 5])).tolist()
    [10, -3, -8, 5, -5]
    """
    if not len(call):
        return wait
    first = np.flatnonzero(np.concatenate(([True], call[1:] != call[:-1])))
    members = np.diff(np.append(first, len(call)))
    start, others = np.repeat(first, members), np.repeat(members, members) - 1
    own = np.arange(len(call)) - start
    low, high = (others - 1) // 2, others // 2
    # In the list without the own wait all that stand behind it move up by one.
    middle = wait[start + low + (low >= own)] + wait[start + high + (high >= own)]
    return np.asarray(middle // 2 - wait, np.int64)
