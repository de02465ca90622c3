"""What a capture tells about waiting between streams, and between the host and a stream."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.analysis.foundation.rank_tables import links_of, slices_of
from stepscope.arrays import Bools, Int64s
from stepscope.facts.critical_path import critical_path_facts
from stepscope.store.run_store import RunStore

_STREAM_SYNC: Final = "Stream Sync"


@dataclass(frozen=True)
class RecordedWaits:
    """Waits of a rank within a window. ``known``: whether waits between streams were recorded at all."""

    known: bool
    launched_track: Int64s  # streams told to wait, by the time of the call
    launched_time: Int64s
    device_track: Int64s  # streams that waited, by the end of the wait on the device
    device_time: Int64s
    synced_call: Int64s  # host calls that waited for one stream, and its track
    synced_track: Int64s
    event_source: Int64s  # slices joined by an arrow: the second waited for the first
    event_target: Int64s

    def between(self, track: Int64s, launched: tuple[Int64s, Int64s], device: tuple[Int64s, Int64s]) -> Bools:
        """Whether a track was told to wait after the first and up to the second of two moments, on either clock."""
        return _any_within(self.launched_track, self.launched_time, track, *launched) | _any_within(
            self.device_track, self.device_time, track, *device
        )


def _any_within(tracks: Int64s, times: Int64s, track: Int64s, after: Int64s, until: Int64s) -> Bools:
    any_within = np.zeros(len(track), np.bool_)
    for own in np.unique(tracks):
        mine = np.flatnonzero(track == own)
        moments = np.sort(times[tracks == own])
        any_within[mine] = np.searchsorted(moments, until[mine], "right") > np.searchsorted(
            moments, after[mine], "right"
        )
    return any_within


def recorded_waits(store: RunStore, rank: int, window: tuple[int, int]) -> RecordedWaits:
    """Read them."""
    end = pl.col("start_ns") + pl.col("dur_ns")
    columns = (
        "track",
        "start_ns",
        end.alias("end_ns"),
        "kind",
        pl.col("name").cast(pl.String),
        "correlation",
        "stream",
    )
    slices = slices_of(store, rank)
    rows = slices.filter(pl.col("kind").is_in(["sync", "wait"])).select(columns).collect()
    pattern = re.compile("|".join(critical_path_facts().waits.patterns))
    names = [name for name in rows["name"].unique().drop_nulls() if pattern.search(name)]
    waits = rows.filter(pl.col("name").is_in(names))
    inside = waits.filter((pl.col("start_ns") < window[1]) & (pl.col("end_ns") >= window[0]))
    told, held = inside.filter(pl.col("kind") == "sync"), inside.filter(pl.col("kind") == "wait")
    synced = rows.filter((pl.col("name") == _STREAM_SYNC) & (pl.col("stream") >= 0)).select("correlation", "track")
    calls = slices.filter((pl.col("kind") == "runtime") & pl.col("correlation").is_in(synced["correlation"].implode()))
    pairs = calls.select(pl.col("slice").cast(pl.Int64), "correlation").collect().join(synced, on="correlation")
    arrows = links_of(store, rank).filter(pl.col("kind") == "event_wait")
    return RecordedWaits(
        known=bool(len(waits) or len(arrows)),
        launched_track=_numbers(told["track"]),
        launched_time=_numbers(told["start_ns"]),
        device_track=_numbers(held["track"]),
        device_time=_numbers(held["end_ns"]),
        synced_call=_numbers(pairs["slice"]),
        synced_track=_numbers(pairs["track"]),
        event_source=_numbers(arrows["from_slice"]),
        event_target=_numbers(arrows["to_slice"]),
    )


def _numbers(values: pl.Series) -> Int64s:
    return values.cast(pl.Int64).to_numpy()
