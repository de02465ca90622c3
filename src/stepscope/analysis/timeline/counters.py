"""Curves of a rank, thinned to bins by minimum, maximum and last value, so that no peak is ever lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.timeline.clock import RunClock
from stepscope.analysis.timeline.tiles import BINS, UInt16s
from stepscope.arrays import Float64s, Int64s
from stepscope.store.run_store import RunStore

_FAR = 1 << 62
#: Curves of memory are numbered from here, beyond all tracks of a file.
FIRST_MEMORY_TRACK: Final = 1 << 30


_SAMPLES: Final = pl.Schema({"track": pl.Int64, "time_ns": pl.Int64, "value": pl.Float64})


@dataclass(frozen=True)
class MemoryCurve:
    """Bytes in use of one device, as one allocator counts them."""

    track: int
    device: str
    name: str


@dataclass(frozen=True)
class CounterColumns:
    """Samples of all curves of a rank, sorted by track and time."""

    tracks: Int64s
    track_first: Int64s  # one more than tracks
    time: Int64s
    value: Float64s
    memory: list[MemoryCurve] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return self.time.nbytes + self.value.nbytes

    def of(self, track: int) -> tuple[Int64s, Float64s]:
        """Times and values of one curve; empty if there is no such curve."""
        index = int(np.searchsorted(self.tracks, track))
        if index == len(self.tracks) or self.tracks[index] != track:
            return self.time[:0], self.value[:0]
        stretch = slice(int(self.track_first[index]), int(self.track_first[index + 1]))
        return self.time[stretch], self.value[stretch]


@dataclass(frozen=True)
class CounterTile:
    """Bins that hold samples, in time order. ``before`` is the value that holds when the tile begins."""

    before: float
    least: Float64s
    most: Float64s
    last: Float64s
    bin: UInt16s

    def encoded(self) -> bytes:
        """The columns one after the other, little endian, padded to eight bytes."""
        columns = (self.least.astype("<f8"), self.most.astype("<f8"), self.last.astype("<f8"), self.bin.astype("<u2"))
        body = b"".join(column.tobytes() for column in columns)
        return body + bytes(-len(body) % 8)


def counter_columns(store: RunStore, rank: int, clock: RunClock) -> CounterColumns:
    """Read the curves of a rank, its memory among them."""
    samples = store.scan("counters", [rank]).select("track", "time_ns", "value").drop_nulls("time_ns").collect()
    curves, memory = _memory(store, rank)
    samples = pl.concat([samples.cast(_SAMPLES), curves]).sort("track", "time_ns", maintain_order=True)
    tracks, first = np.unique(samples["track"].to_numpy(), return_index=True)
    return CounterColumns(
        tracks.astype(np.int64),
        np.concatenate((first, [samples.height])).astype(np.int64),
        clock.relative(rank, samples["time_ns"].to_numpy()),
        samples["value"].fill_null(float("nan")).to_numpy(),
        memory,
    )


def _memory(store: RunStore, rank: int) -> tuple[pl.DataFrame, list[MemoryCurve]]:
    """Bytes allocated and reserved, per device and allocator that recorded them."""
    recorded = store.scan("memory", [rank]).drop_nulls("time_ns").collect()
    several = recorded["component"].n_unique() > 1
    samples = [pl.DataFrame(schema=_SAMPLES)]
    curves: list[MemoryCurve] = []
    for (device, component), rows in recorded.group_by("device", "component", maintain_order=True):
        for measure in ("allocated", "reserved"):
            known = rows.drop_nulls(measure)
            if known.is_empty():
                continue
            track = FIRST_MEMORY_TRACK + len(curves)
            name = f"{measure}, {component}" if several and component else measure
            curves.append(MemoryCurve(track, device or "", f"{name} (B)"))
            samples.append(known.select(pl.lit(track).alias("track"), "time_ns", pl.col(measure).alias("value")))
    return pl.concat([part.cast(_SAMPLES) for part in samples]), curves


def counter_tile(columns: CounterColumns, track: int, level: int, index: int) -> CounterTile:
    """One curve in 1024 bins of 2^level nanoseconds, from ``index`` tile widths after the run's origin."""
    time, value = columns.of(track)
    base = index * (BINS << level)
    if not -_FAR < base < _FAR:
        time, value, base = time[:0], value[:0], 0
    edges = base + (np.arange(BINS + 1, dtype=np.int64) << level)
    first_of_bin = np.searchsorted(time, edges)
    filled = np.flatnonzero(np.diff(first_of_bin))
    first, last = first_of_bin[filled], first_of_bin[filled + 1] - 1
    inside = value[first_of_bin[0] : first_of_bin[-1]]
    # Samples that are no numbers do not hide those that are.
    least = np.fmin.reduceat(inside, first - first_of_bin[0]) if len(filled) else inside[:0]
    most = np.fmax.reduceat(inside, first - first_of_bin[0]) if len(filled) else inside[:0]
    before = float(value[first_of_bin[0] - 1]) if first_of_bin[0] > 0 else float("nan")
    return CounterTile(before, least, most, value[last], filled.astype(np.uint16))
