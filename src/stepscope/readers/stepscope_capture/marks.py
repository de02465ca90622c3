"""Marks and ranges of the user's own code (``mstx``) as slices."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.layout import names
from stepscope.readers.files.reading import Reading
from stepscope.readers.slices.slice_parts import SliceParts
from stepscope.readers.stepscope_capture.line_files import read_lines

_SCHEMA: Final = {
    "event": pl.String,
    "id": pl.Int64,
    "time_ns": pl.Int64,
    "domain": pl.String,
    "message": pl.String,
    "pid": pl.Int64,
    "tid": pl.Int64,
}
_PROCESS: Final = "mstx"


def read_marks(raw: Path, last_ns: int, parts: SliceParts, reading: Reading) -> None:
    """Add them to ``parts``; a range that was never ended lasts to ``last_ns``."""
    lines = read_lines(raw / names.MARKS_FILE, _SCHEMA, ("event", "id", "time_ns"), reading)
    if lines.is_empty():
        return
    # A forked child counts on from its parent's ids.
    ends = lines.filter(pl.col("event") == "end").unique(["pid", "id"], keep="first").select("pid", "id", end="time_ns")
    begins = lines.filter(pl.col("event") == "begin").join(ends, on=["pid", "id"], how="left", nulls_equal=True)
    reading.notes.add("ranges_open", file=names.MARKS_FILE, count=begins["end"].null_count())
    ranges = begins.with_columns(
        dur_ns=(pl.col("end").fill_null(last_ns) - pl.col("time_ns")).clip(lower_bound=0), kind=pl.lit("annotation")
    )
    moments = lines.filter(pl.col("event") == "mark").with_columns(dur_ns=pl.lit(0, pl.Int64), kind=pl.lit("mark"))
    both = pl.concat([ranges.drop("end"), moments]).with_columns(
        pl.col("message").fill_null("?"), pl.col("domain").fill_null("default")
    )
    for (domain, pid, tid), here in both.group_by("domain", "pid", "tid", maintain_order=True):
        track = parts.tracks.track("annotation", f"{domain} {tid}", _PROCESS, f"{pid}/{tid}/{domain}")
        frame = here.select(
            pl.lit(track).alias("track"),
            pl.col("time_ns").alias("start_ns"),
            "dur_ns",
            pl.col("message").alias("name"),
            "kind",
            pl.col("domain").alias("type"),
        )
        parts.add(frame, names.MARKS_FILE)
