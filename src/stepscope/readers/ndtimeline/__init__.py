"""NDTimeline: one Parquet file with the operations of a whole job, a line per data-parallel rank and stage.

Times are seconds from the start of each step. What lies between steps is not recorded, so steps stand one behind
another.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.facts.training_operations import training_operations_facts
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.reader import claims_no_directory as claim

__all__ = ["claim", "claim_file", "parts", "read"]

_READER: Final = "ndtimeline"
_MAGIC: Final = b"PAR1"
_COLUMNS: Final = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration")
_NS: Final = 1_000_000_000


def claim_file(path: Path, head: bytes) -> Source | None:
    """A Parquet file with the columns of operations."""
    if not head.startswith(_MAGIC):
        return None
    try:
        columns = pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, OSError):
        return None
    if not set(_COLUMNS) <= set(columns):
        return None
    plan = path.with_name(path.stem.replace("trace", "meta", 1) + ".yaml")
    return Source(path, _READER, None, (path, plan) if plan.is_file() and plan != path else (path,))


def parts(source: Source) -> list[Source]:
    """One source per rank in the file."""
    try:
        ranks = pl.scan_parquet(source.path).select(pl.col("rank").unique().sort()).collect()["rank"].to_list()
    except (pl.exceptions.PolarsError, OSError):
        return [source]
    return [replace(source, rank=rank, part=rank) for rank in ranks] or [source]


def read(reading: Reading) -> None:
    """Read the operations of one rank: slices, calls and steps."""
    path = reading.source.path
    try:
        lengths = _step_starts(path)
        rows = pl.scan_parquet(path).filter(pl.col("rank") == reading.source.part).select(_COLUMNS).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=str(error).splitlines()[0]) from error
    if rows.is_empty():
        raise UnreadableInputError("no_events", path=str(path))
    slices = _slices(rows.join(lengths, on="step", maintain_order="left"))
    first, last = pl.col("start_ns").min(), (pl.col("start_ns") + pl.col("dur_ns")).max()
    steps = slices.group_by("step", maintain_order=True).agg(host_start_ns=first, host_end_ns=last)
    marks = steps.with_columns(
        device_start_ns="host_start_ns",
        device_end_ns="host_end_ns",
        marks_from=pl.lit("ndtimeline"),
        warm_up=pl.lit(False),
    )
    reading.out.add("slices", slices.drop("call", "track_name"))
    reading.out.add("steps", marks.with_columns(incomplete=pl.lit(False)))
    reading.out.add("tracks", _tracks(slices))
    reading.out.add("collectives", _calls(slices))
    span = slices.select(first_ns=first, last_ns=last).to_dicts()[0]
    about = {"dp": rows["dp_rank"][0], "pp": rows["stage"][0], "device_kind": "gpu", "source": str(path)}
    reading.out.add("ranks", pl.DataFrame([about | span | _plan(reading.source)]))
    reading.took(reading.source.bytes)


def _step_starts(path: Path) -> pl.DataFrame:
    """Where each step begins when one stands behind another."""
    ends = (
        pl.scan_parquet(path)
        .group_by("step")
        .agg(length=_ns(pl.col("start_ts").cast(pl.Float64) + pl.col("duration")).max())
    )
    return ends.sort("step").select("step", begins=pl.col("length").cum_sum() - pl.col("length")).collect()


def _slices(rows: pl.DataFrame) -> pl.DataFrame:
    known = training_operations_facts().operations
    name = pl.col("optype").cast(pl.String)
    start = pl.col("begins") + _ns(pl.col("start_ts").cast(pl.Float64))
    chain = (
        pl.when(pl.col("call").is_in(["send", "receive"])).then("name").when(pl.col("call") != "").then(pl.lit("dp"))
    )
    slices = rows.select(
        "step",
        name=name,
        start_ns=start,
        dur_ns=_ns(pl.col("duration").cast(pl.Float64)),
        kind=name.replace_strict({each: known[each].kind for each in known}, default="annotation"),
        call=name.replace_strict({each: known[each].call for each in known}, default=""),
    ).sort("start_ns", "name", maintain_order=True)
    slices = slices.with_columns(track_name=chain.otherwise(pl.lit("compute"))).with_row_index("slice")
    track = pl.col("track_name").rank("dense").cast(pl.Int64)
    return slices.with_columns(track=track, row=pl.lit(0), stream=track, type=pl.col("name"))


def _tracks(slices: pl.DataFrame) -> pl.DataFrame:
    names = slices.select("track", name="track_name").unique().sort("track")
    return names.with_columns(kind=pl.lit("stream"), order=pl.col("track"))


def _calls(slices: pl.DataFrame) -> pl.DataFrame:
    calls = slices.filter(pl.col("kind") == "collective")
    return calls.select(
        "slice", "name", "step", "start_ns", "stream", kind="call", end_ns=pl.col("start_ns") + pl.col("dur_ns")
    )


def _plan(source: Source) -> dict[str, Any]:
    """The world size, where the plan lies beside the file."""
    for path in source.files[1:]:
        for line in path.read_text("utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "world_size" and value.strip().isdigit():
                return {"world_size": int(value)}
    return {}


def _ns(seconds: pl.Expr) -> pl.Expr:
    """Seconds as recorded (32-bit floats) in whole nanoseconds."""
    return (seconds * _NS).round().cast(pl.Int64)
