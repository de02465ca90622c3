"""What counts as work of a rank: device compute, communication and copies; on a machine without accelerator, operators.

Every analysis takes its intervals from here, so that all of them count the same slices (docs/metrics/steps.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.intervals import Intervals, union
from stepscope.analysis.foundation.rank_cache import cached_per_rank, cached_summary_per_rank
from stepscope.analysis.foundation.rank_tables import links_of, slices_of
from stepscope.arrays import Bools, Int64s
from stepscope.errors import UsageError
from stepscope.facts.communication import communication_facts
from stepscope.facts.compute_roles import compute_roles_facts
from stepscope.store.run_store import RunStore
from stepscope.texts.numbers import ranges

COMPUTE: Final = "compute"
COMMUNICATION: Final = "communication"
COPY: Final = "copy"
NO_SLICE: Final = 2**32 - 1

_DEVICE_LANES: Final = {"kernel": COMPUTE, "collective": COMMUNICATION, "copy": COPY}
_HOST_LANES: Final = {"operator": COMPUTE, "collective": COMMUNICATION}
LANE: Final = pl.Enum([COMPUTE, COMMUNICATION, COPY])
_COLUMNS: Final = ["slice", "track", "start_ns", "dur_ns", "step", "kind", "type", "name"]


@dataclass(frozen=True)
class Work:
    """The work slices of one rank, in no particular order; ``step`` is -1 outside every step."""

    rank: int
    on_device: bool
    slice: Int64s
    track: Int64s
    start: Int64s
    end: Int64s
    step: Int64s
    lane: pl.Series
    name: pl.Series
    type: pl.Series
    receives: Bools
    before_window: Bools  # launched before the capture began: work of no step
    enclosing: Enclosing

    def of(self, lane: str) -> Bools:
        return (self.lane == lane).to_numpy()

    def computing(self) -> Intervals:
        """When anything computed, also around smaller operators (:class:`Enclosing`)."""
        own, outer = self.of(COMPUTE), self.enclosing
        return union(
            np.concatenate((self.start[own], outer.start[outer.computes])),
            np.concatenate((self.end[own], outer.end[outer.computes])),
        )

    @cached_property
    def in_step(self) -> Bools:
        return np.asarray(self.step >= 0)

    def with_enclosing(self) -> Work:
        """The same with the operators around others: all that keeps a host busy that computes by itself."""
        outer = self.enclosing
        return replace(
            self,
            slice=np.concatenate((self.slice, outer.slice)),
            track=np.concatenate((self.track, outer.track)),
            start=np.concatenate((self.start, outer.start)),
            end=np.concatenate((self.end, outer.end)),
            step=np.concatenate((self.step, outer.step)),
            lane=pl.concat([self.lane, pl.repeat(COMPUTE, len(outer.slice), dtype=LANE, eager=True)]),
            name=pl.concat([self.name, outer.name]),
            type=pl.concat([self.type, outer.type]),
            receives=np.concatenate((self.receives, np.zeros(len(outer.slice), np.bool_))),
            before_window=np.concatenate((self.before_window, np.zeros(len(outer.slice), np.bool_))),
        )


@dataclass(frozen=True)
class Enclosing:
    """Operators of the host that hold other operators; empty where a device does the work.

    ``computes`` are those that work by themselves all the time. The others may also wait in between, for other ranks:
    what they do while something communicates is not known, and counts as communication.
    """

    slice: Int64s
    track: Int64s
    start: Int64s
    end: Int64s
    step: Int64s
    name: pl.Series
    type: pl.Series
    computes: Bools


@cached_per_rank
def work_of(store: RunStore, rank: int) -> Work:
    """The work of a rank. On-device where any device slice exists, else leaf operators on the host."""
    slices = slices_of(store, rank)
    device = slices.filter(pl.col("kind").is_in(list(_DEVICE_LANES))).select(_COLUMNS).collect()
    on_device = _any_on_device(store, rank, device)
    rows, enclosing = device, device.clear().with_columns(computes=pl.lit(False))
    if not on_device:
        calls = host_calls(slices.select(*_COLUMNS, "parent"))
        rows, enclosing = calls.filter("leaf"), calls.filter(~pl.col("leaf"))
    collectives = rows.filter(pl.col("kind") == "collective").select("slice", name=_CALL_NAME)
    receives = collectives.filter(pl.col("name").str.contains(_RECEIVES).fill_null(False))["slice"]
    return Work(
        rank,
        on_device,
        *_places(rows),
        *_times(rows),
        rows["kind"].replace_strict(_DEVICE_LANES if on_device else _HOST_LANES, return_dtype=LANE),
        rows["name"],
        rows["type"],
        rows["slice"].is_in(receives.implode()).to_numpy(),
        _before_window(store, rank, rows) if on_device else np.zeros(len(rows), np.bool_),
        Enclosing(
            *_places(enclosing),
            *_times(enclosing),
            enclosing["name"],
            enclosing["type"],
            enclosing["computes"].to_numpy(),
        ),
    )


def _before_window(store: RunStore, rank: int, rows: pl.DataFrame) -> Bools:
    """Work of no step and of unknown launch that lies before the first launched slice of its stream, or of any."""
    outside = rows["step"].is_null().to_numpy()
    if not outside.any():
        return outside
    calls = links_of(store, rank).filter(pl.col("kind").is_in(["launch", "operator_launch"]))["to_slice"]
    launched = rows["slice"].cast(pl.Int64).is_in(calls.implode()).to_numpy()
    start, track = rows["start_ns"].to_numpy(), rows["track"].to_numpy()
    if not launched.any():
        return np.zeros(len(rows), np.bool_)
    first = np.full(int(track.max()) + 1, int(start[launched].min()), np.int64)
    for own in np.unique(track[launched]):
        first[own] = start[launched & (track == own)].min()
    return np.asarray(outside & ~launched & (start < first[track]), np.bool_)


@cached_summary_per_rank
def does_work_on_device(store: RunStore, rank: int) -> bool:
    """Whether any slice of a rank ran on a device."""
    wanted = pl.col("kind").is_in(list(_DEVICE_LANES))
    return _any_on_device(store, rank, slices_of(store, rank).filter(wanted).select("kind", "track").collect())


def _any_on_device(store: RunStore, rank: int, rows: pl.DataFrame) -> bool:
    """Collectives of gloo or MPI run on the host, so they alone make no device."""
    collectives = rows.filter(pl.col("kind") == "collective")
    return len(collectives) < len(rows) or bool(collectives["track"].is_in(device_tracks(store, rank)).any())


def _places(rows: pl.DataFrame) -> tuple[Int64s, Int64s]:
    """Number and track of slices."""
    return rows["slice"].cast(pl.Int64).to_numpy(), rows["track"].cast(pl.Int64).to_numpy()


def _times(rows: pl.DataFrame) -> tuple[Int64s, Int64s, Int64s]:
    """Start, end and step of slices."""
    start = rows["start_ns"].to_numpy()
    return start, np.asarray(start + rows["dur_ns"].to_numpy()), rows["step"].fill_null(-1).to_numpy()


_CALL_NAME: Final = pl.coalesce(pl.col("type").cast(pl.String), pl.col("name").cast(pl.String)).str.to_lowercase()
# hcom_receive__1, Receive-op12, recv, forward-recv; a kernel that sends and receives at once is not a pure receive.
_RECEIVES: Final = (
    r"^(?:hcom_)?(?:receive|recv|batch_?recv|irecv)|^(?:forward|backward)-recv|^receive-op|/receive-op|"
    r"gloo:recv|nccl:recv|^c10d::recv"
)


def host_calls(slices: pl.LazyFrame) -> pl.DataFrame:
    """Operators and collectives of the host, each with ``own_ns``, its time without that of others directly in it.

    Operators that only call into communication count as collectives. ``leaf`` are collectives, and operators in which
    no other operator or collective lies, whatever lies between; ``caller`` is the call directly around, null for an
    outermost one. ``computes`` are operators of a library of operators in which no collective lies.
    """
    rows = slices.collect().with_columns(pl.col("kind").cast(pl.String))
    rows = rows.with_columns(
        kind=pl.when((pl.col("kind") == "operator") & _calls_communication(rows))
        .then(pl.lit("collective"))
        .otherwise("kind")
    )
    calls = rows["kind"].is_in(["operator", "collective"]).to_numpy()
    ids = rows["slice"].to_numpy()
    parent = rows["parent"].fill_null(NO_SLICE).to_numpy()
    order = np.argsort(ids, kind="stable")
    index = np.minimum(np.searchsorted(ids[order], parent), len(ids) - 1)
    above = np.where(ids[order][index] == parent, order[index], -1)
    ancestor = above[calls]
    while (climbing := (ancestor >= 0) & ~calls[ancestor]).any():
        ancestor = np.where(climbing, above[ancestor], ancestor)
    inner = ancestor >= 0
    leaf = np.ones(len(rows), np.bool_)
    leaf[ancestor[inner]] = False
    is_collective = rows["kind"].eq("collective").to_numpy()
    leaf |= is_collective
    caller_of = np.full(len(rows), -1)
    caller_of[calls] = ancestor
    computes = _of_a_library(rows) & ~is_collective & ~_around(is_collective, caller_of)
    own = rows["dur_ns"].to_numpy().copy()
    np.subtract.at(own, ancestor[inner], own[calls][inner])
    own = np.maximum(own, 0)
    described = rows.with_columns(leaf=pl.Series(leaf), own_ns=pl.Series(own), computes=pl.Series(computes)).filter(
        pl.Series(calls)
    )
    caller = pl.Series(ids[np.maximum(ancestor, 0)])
    return described.with_columns(caller=pl.when(pl.Series(inner)).then(caller))


def _calls_communication(rows: pl.DataFrame) -> pl.Series:
    return _named(rows, communication_facts().host_operators)


def _of_a_library(rows: pl.DataFrame) -> Bools:
    return _named(rows, compute_roles_facts().roles.library_operator).to_numpy()


def _named(rows: pl.DataFrame, pattern: str) -> pl.Series:
    """By name; there are far fewer names than slices."""
    names = rows["name"].unique()
    return rows["name"].is_in(names.filter(names.cast(pl.String).str.contains(pattern)).implode())


def _around(inner: Bools, caller_of: Int64s) -> Bools:
    """Which calls lie around any of these, at whatever depth."""
    around = np.zeros(len(inner), np.bool_)
    above = np.unique(caller_of[inner])
    while len(above := above[above >= 0]):
        above = above[~around[above]]
        around[above] = True
        above = np.unique(caller_of[above])
    return around


def device_tracks(store: RunStore, rank: int) -> list[int]:
    """Tracks of streams and communication planes."""
    tracks = store.scan("tracks", [rank]).filter(pl.col("kind").is_in(["stream", "plane"]))
    return tracks.select("track").collect()["track"].to_list()


def ranks_of(store: RunStore, ranks: Sequence[int] | None) -> list[int]:
    """The ranks asked for, or all there are."""
    known = store.ranks
    if ranks is None or not len(ranks):
        return known
    for rank in ranks:
        if rank not in known:
            raise UsageError("no_such_rank", rank=rank, ranks=ranges(known))
    return [rank for rank in known if rank in set(ranks)]
