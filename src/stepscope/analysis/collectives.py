"""The question ``collectives``: single communication calls over ranks and time, each with its wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.communication.asked_calls import AskedCalls
from stepscope.analysis.foundation.kept import kept
from stepscope.analysis.foundation.microseconds import in_microseconds
from stepscope.analysis.foundation.question import AtLeast, question
from stepscope.analysis.foundation.units import Bytes, Identifier, Microseconds, Nanoseconds
from stepscope.analysis.timeline.clock import run_clock
from stepscope.errors import NoAnswerError
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore
from stepscope.typed import typed

_MADE_FROM: Final = ("analysis", "facts", "store")
_USUAL_LIMIT: Final = 2_000
_TIMES: Final = {"duration_us": "took", "wait_us": "waiting", "transit_us": "moving", "skew_us": "skew_ns"}


class CollectiveCall(msgspec.Struct, frozen=True):
    """One rank's part in a call; ``call`` is the same for all members, and ``start_ns`` is on the run's clock."""

    rank: Identifier
    slice: Identifier | None
    call: Identifier | None
    step: Identifier | None
    group: str | None
    kind: str | None
    name: str
    seq: Identifier | None
    start_ns: Nanoseconds
    duration_us: Microseconds
    wait_us: Microseconds | None
    transit_us: Microseconds | None
    skew_us: Microseconds | None
    bytes: Bytes | None


_COLUMNS: Final = {
    "rank": pl.Int32,
    "slice": pl.UInt32,
    "call": pl.Int64,
    "step": pl.Int64,
    "group": pl.String,
    "kind": pl.String,
    "name": pl.String,
    "seq": pl.Int64,
    "start_ns": pl.Int64,
    "duration_us": pl.Float64,
    "wait_us": pl.Float64,
    "transit_us": pl.Float64,
    "skew_us": pl.Float64,
    "bytes": pl.Int64,
}


class _Calls(msgspec.Struct, frozen=True):
    """The longest calls of a run, as they are kept."""

    longest: list[CollectiveCall]
    left_out: int


@question(rows=CollectiveCall)
def collectives(
    store: RunStore,
    *,
    ranks: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
    group: str | None = None,
    operation: str | None = None,
    limit: Annotated[int, AtLeast(1)] = _USUAL_LIMIT,
) -> Answer[pl.DataFrame]:
    """Rows of ``CollectiveCall`` in the order of their start; of more than ``limit`` the longest."""
    if ranks or steps or group or operation or limit != _USUAL_LIMIT:
        rows, left_out = _longest(store, AskedCalls(store, ranks, steps, group, operation), limit)
    else:
        calls = kept(store, "collectives", _Calls, _MADE_FROM, _usually_asked)
        rows, left_out = pl.DataFrame(msgspec.to_builtins(calls.longest), schema=_COLUMNS), calls.left_out
    return Answer(rows, [Note("calls_left_out", {"shown": str(rows.height)}, count=left_out)] if left_out else [])


def _usually_asked(store: RunStore) -> _Calls:
    rows, left_out = _longest(store, AskedCalls(store, None, None, None, None), _USUAL_LIMIT)
    return _Calls(typed(rows.to_dicts(), list[CollectiveCall]), left_out)


def _longest(store: RunStore, asked: AskedCalls, limit: int) -> tuple[pl.DataFrame, int]:
    """The longest of some calls, in the order of their start, and how many more there are."""
    calls, _ = asked.timed(beside_computing=False)
    calls = calls.filter(pl.col("start_ns").is_not_null() & pl.col("took").is_not_null())
    if calls.is_empty():
        raise NoAnswerError("no_communication")
    longest = calls.sort("took", "rank", "start_ns", descending=[True, False, False]).head(limit)
    on_timeline = store.scan("collectives").select("rank", "slice").drop_nulls().collect()
    rows = (
        _on_run_clock(store, longest)
        .join(on_timeline.with_columns(place="slice"), on=["rank", "slice"], how="left")
        .with_columns(pl.col("place").alias("slice"))
        .with_columns(in_microseconds(pl.col(ns)).alias(us) for us, ns in _TIMES.items())
        .sort("start_ns", "rank", "call")
        .select(pl.col(name).cast(kind) for name, kind in _COLUMNS.items())
    )
    return rows, calls.height - rows.height


def _on_run_clock(store: RunStore, calls: pl.DataFrame) -> pl.DataFrame:
    clock = run_clock(store)
    return pl.concat(
        own.with_columns(start_ns=pl.Series(clock.ranks[int(str(rank))].to_run(own["start_ns"].to_numpy())))
        for (rank,), own in calls.group_by("rank", maintain_order=True)
    )
