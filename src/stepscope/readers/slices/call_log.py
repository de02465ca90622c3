"""A timeline out of nothing but communication calls: for logs that libraries keep where nobody runs a profiler."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.readers.files.reading import Reading
from stepscope.store.nesting import nest

#: Columns of the calls. ``slice`` is the number of the record in its log.
CALL: Final[dict[str, Any]] = {
    "slice": pl.Int64,
    "group": pl.String,
    "seq": pl.Int64,
    "kind": pl.String,
    "name": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "bytes": pl.Int64,
    "dtype": pl.String,
    "peer": pl.Int32,
    "json": pl.String,
    "stack": pl.UInt32,
}


def write_call_log(calls: pl.DataFrame, about: dict[str, Any], reading: Reading) -> None:
    """Write calls (rows of ``CALL``) as collectives, and as slices on a track per group."""
    calls = calls.sort("start_ns", "slice").with_columns(track=pl.col("group").rank("dense").cast(pl.Int32) - 1)
    start, length = calls["start_ns"].to_numpy(), (calls["end_ns"] - calls["start_ns"]).to_numpy()
    nested = nest(calls["track"].to_numpy(), start, length)
    ids = calls["slice"].to_numpy()
    parent = pl.Series(np.where(nested.parent < 0, -1, ids[nested.parent]), dtype=pl.Int64)
    slices = calls.select(
        "slice",
        "track",
        "start_ns",
        "name",
        "group",
        "bytes",
        "stack",
        row=nested.row,
        parent=pl.when(parent >= 0).then(parent),
        dur_ns=pl.Series(length),
        kind=pl.lit("collective"),
        type="kind",
        stream=pl.col("track").cast(pl.Int64),
    )
    reading.out.add("slices", slices.sort("track", "row", "start_ns"))
    reading.out.add("details", calls.select("slice", "json").drop_nulls())
    reading.out.add(
        "collectives", calls.drop("json", "stack", "track").with_columns(stream=calls["track"].cast(pl.Int64))
    )
    tracks = calls.select("track", name="group").unique().sort("track")
    reading.out.add("tracks", tracks.with_columns(kind=pl.lit("stream"), order=pl.col("track")))
    span = {"first_ns": calls["start_ns"].min(), "last_ns": calls["end_ns"].max()}
    reading.out.add("ranks", pl.DataFrame([{"source": str(reading.source.path)} | about | span]))
