"""Records of rocprofv3 as rows of a timeline: what both of its formats have in common."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from stepscope.facts.communication import communication_kernel
from stepscope.readers.slices.track_numbers import TrackNumbers

#: ``where`` is the agent of device work and the process of host work, ``lane`` the queue or the thread.
RECORD: Final = {
    "start": pl.Int64,
    "end": pl.Int64,
    "name": pl.String,
    "kind": pl.String,
    "where": pl.String,
    "lane": pl.Int64,
    "bytes": pl.Int64,
    "correlation": pl.Int64,
}
ON_DEVICE: Final = ("kernel", "collective", "copy")
_DIRECTION: Final = re.compile(r"(?:MEMORY_COPY_)?(HOST|DEVICE)_TO_(HOST|DEVICE)")


def copy_name(direction: str) -> str:
    """A copy as other tools call it.

    >>> copy_name("MEMORY_COPY_HOST_TO_DEVICE"), copy_name("NONE")
    ('Memcpy HtoD', 'Memcpy')
    """
    found = _DIRECTION.search(direction.upper())
    return f"Memcpy {found[1][0]}to{found[2][0]}" if found else "Memcpy"


def rows_of_records(records: pl.DataFrame, tracks: TrackNumbers) -> pl.DataFrame:
    """The records on tracks; kernels that communicate are told apart by their names."""
    names = records.filter(pl.col("kind") == "kernel")["name"].drop_nulls().unique()
    communicating = [name for name in names if communication_kernel().search(name)]
    talks = (pl.col("kind") == "kernel") & pl.col("name").is_in(communicating)
    rows = records.with_columns(kind=pl.when(talks).then(pl.lit("collective")).otherwise("kind"))
    rows = rows.with_columns(device=pl.col("kind").is_in(ON_DEVICE))
    keys = rows.select("device", "where", "lane").unique().sort("device", "where", "lane", nulls_last=True)
    numbers = [
        tracks.track("stream", f"queue {lane}", str(where), str(lane))
        if device
        else tracks.track("host", f"thread {lane}", str(where), str(lane))
        for device, where, lane in keys.rows()
    ]
    placed = rows.join(
        keys.with_columns(track=pl.Series(numbers, dtype=pl.Int64)),
        on=["device", "where", "lane"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return placed.with_columns(stream=pl.when("device").then("lane")).drop("device", "where", "lane")
