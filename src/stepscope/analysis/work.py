"""What counts as work of a rank: device compute, communication and copies; on a machine without accelerator, operators.

Every analysis takes its intervals from here, so that all of them count the same slices (docs/metrics/work.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.intervals import Bools, Int64s
from stepscope.analysis.shared import shared
from stepscope.errors import UsageError
from stepscope.store.run_store import RunStore

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
    enclosing: Enclosing

    def of(self, lane: str) -> Bools:
        return (self.lane == lane).to_numpy()

    @cached_property
    def in_step(self) -> Bools:
        return np.asarray(self.step >= 0)


@dataclass(frozen=True)
class Enclosing:
    """Operators of the host that hold other operators; empty where a device does the work."""

    start: Int64s
    end: Int64s
    step: Int64s


@shared
def work_of(store: RunStore, rank: int) -> Work:
    """The work of a rank. On-device where any device slice exists, else leaf operators on the host."""
    slices = store.scan("slices", [rank])
    device = slices.filter(pl.col("kind").is_in(list(_DEVICE_LANES))).select(_COLUMNS).collect()
    collectives = device.filter(pl.col("kind") == "collective")
    on_device = len(collectives) < len(device) or bool(collectives["track"].is_in(device_tracks(store, rank)).any())
    found, enclosing = device, device.clear()
    if not on_device:
        rows = slices.select(*_COLUMNS, "parent").collect()
        found = leaf_operators(rows.lazy())
        operators = rows.filter(pl.col("kind") == "operator")
        enclosing = operators.join(found.select("slice"), on="slice", how="anti")
    calls = found.filter(pl.col("kind") == "collective").select("slice", name=_CALL_NAME)
    receives = calls.filter(pl.col("name").str.contains(_RECEIVES).fill_null(False))["slice"]
    return Work(
        rank,
        on_device,
        found["slice"].cast(pl.Int64).to_numpy(),
        found["track"].cast(pl.Int64).to_numpy(),
        *_times(found),
        found["kind"].replace_strict(_DEVICE_LANES if on_device else _HOST_LANES, return_dtype=LANE),
        found["name"],
        found["type"],
        found["slice"].is_in(receives.implode()).to_numpy(),
        Enclosing(*_times(enclosing)),
    )


def _times(rows: pl.DataFrame) -> tuple[Int64s, Int64s, Int64s]:
    """Start, end and step of slices."""
    start = rows["start_ns"].to_numpy()
    return start, np.asarray(start + rows["dur_ns"].to_numpy()), rows["step"].fill_null(-1).to_numpy()


_CALL_NAME: Final = pl.coalesce(pl.col("type").cast(pl.String), pl.col("name").cast(pl.String)).str.to_lowercase()
# hcom_receive__1, Receive-op12, recv; a kernel that sends and receives at once is not a pure receive.
_RECEIVES: Final = r"^(?:hcom_)?(?:receive|recv|batch_?recv|irecv)|^receive-op|/receive-op|gloo:recv|nccl:recv"


def leaf_operators(slices: pl.LazyFrame) -> pl.DataFrame:
    """Host collectives, and operators in which no other operator or collective lies, whatever lies between."""
    rows = slices.sort("slice").collect()
    calls = rows["kind"].is_in(["operator", "collective"]).to_numpy()
    ids = rows["slice"].to_numpy()
    parent = rows["parent"].fill_null(NO_SLICE).to_numpy()
    above = np.where(parent == NO_SLICE, -1, np.searchsorted(ids, parent))
    place = above[calls]
    while (climbing := (place >= 0) & ~calls[place]).any():
        place = np.where(climbing, above[place], place)
    leaf = calls.copy()
    leaf[place[place >= 0]] = False
    leaf |= rows["kind"].eq("collective").to_numpy()
    return rows.filter(pl.Series(leaf))


def device_tracks(store: RunStore, rank: int) -> list[int]:
    """Tracks of streams and communication planes."""
    tracks = store.scan("tracks", [rank]).filter(pl.col("kind").is_in(["stream", "plane"]))
    return tracks.select("track").collect()["track"].to_list()


def ranks_of(store: RunStore, ranks: Sequence[int] | None) -> list[int]:
    """The ranks asked for, or all there are."""
    known = [part.rank for part in store.manifest.parts]
    if ranks is None or not len(ranks):
        return known
    for rank in ranks:
        if rank not in known:
            raise UsageError("no_such_rank", rank=rank, ranks=_listed(known))
    return [rank for rank in known if rank in set(ranks)]


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:16])
    return shown if len(numbers) <= 16 else f"{shown} … ({len(numbers)})"
