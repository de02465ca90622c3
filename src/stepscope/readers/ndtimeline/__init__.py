"""NDTimeline: one Parquet file with the operations of a whole job, a line per data-parallel rank and stage.

Times are seconds from the start of each step. What lies between steps is not recorded, so steps stand one behind
another.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.facts.training_operations import training_operations_facts
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.ndtimeline.meetings import calls_of, groups_of
from stepscope.readers.ndtimeline.records import has_records, places, ranks, records_of_rank, step_lengths
from stepscope.readers.reader import claims_no_directory as claim

__all__ = ["claim", "claim_file", "parts", "read"]

_READER: Final = "ndtimeline"
_MAGIC: Final = b"PAR1"
_NS: Final = 1_000_000_000
_WORLD_SIZE: Final = re.compile(r"[0-9]{1,9}")


def claim_file(path: Path, head: bytes) -> Source | None:
    """A Parquet file with the columns of operations."""
    if not head.startswith(_MAGIC) or not has_records(path):
        return None
    plan = path.with_name(path.stem.replace("trace", "meta", 1) + ".yaml")
    return Source(path, _READER, None, (path, plan) if plan.is_file() and plan != path else (path,))


def parts(source: Source) -> list[Source]:
    """One source per rank in the file."""
    try:
        ranks_of_file = ranks(source.path)
    except UnreadableInputError:
        return [source]
    return [replace(source, rank=rank, part=rank) for rank in ranks_of_file] or [source]


def read(reading: Reading) -> None:
    """Read the operations of one rank: slices, calls and steps."""
    path = reading.source.path
    rows, left_out = records_of_rank(path, reading.source.part)
    reading.notes.add("ndtimeline_records_unreadable", file=path.name, count=left_out)
    if rows.is_empty():
        raise UnreadableInputError("no_events", path=str(path))
    slices = _slices(rows.join(_step_starts(path, path.stat().st_mtime_ns), on="step", maintain_order="left"))
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
    known = places(path, path.stat().st_mtime_ns)
    reading.out.add("collectives", calls_of(slices, known, rows["rank"][0]))
    reading.out.add("groups", groups_of(known, rows["rank"][0]))
    span = slices.select(first_ns=first, last_ns=last).to_dicts()[0]
    about = {"dp": rows["dp_rank"][0], "pp": rows["stage"][0], "device_kind": "gpu", "source": str(path)}
    reading.out.add("ranks", pl.DataFrame([about | span | _plan(reading.source)]))
    reading.took(reading.source.bytes)


@lru_cache(maxsize=1)
def _step_starts(path: Path, _changed_ns: int) -> pl.DataFrame:
    """Where each step begins when one stands behind another; the same for all ranks of a file as it is now."""
    lengths = step_lengths(path).select("step", length=_ns(pl.col("seconds")))
    return lengths.select("step", begins=pl.col("length").cum_sum() - pl.col("length"))


def _slices(rows: pl.DataFrame) -> pl.DataFrame:
    known = training_operations_facts().operations
    name = pl.col("optype")
    start = pl.col("begins") + _ns(pl.col("start_ts"))
    chain = (
        pl.when(pl.col("call").is_in(["send", "receive"])).then("name").when(pl.col("call") != "").then(pl.lit("dp"))
    )
    slices = rows.select(
        "step",
        name=name,
        start_ns=start,
        dur_ns=_ns(pl.col("duration")),
        kind=name.replace_strict({each: known[each].kind for each in known}, default="annotation"),
        call=name.replace_strict({each: known[each].call for each in known}, default=""),
    ).sort("start_ns", "name", maintain_order=True)
    slices = slices.with_columns(track_name=chain.otherwise(pl.lit("compute"))).with_row_index("slice")
    track = pl.col("track_name").rank("dense").cast(pl.Int64)
    return slices.with_columns(track=track, row=pl.lit(0), stream=track, type=pl.col("name"))


def _tracks(slices: pl.DataFrame) -> pl.DataFrame:
    names = slices.select("track", name="track_name").unique().sort("track")
    return names.with_columns(kind=pl.lit("stream"), order=pl.col("track"))


def _plan(source: Source) -> dict[str, Any]:
    """The world size, where the plan lies beside the file."""
    for path in source.files[1:]:
        for line in path.read_text("utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "world_size" and _WORLD_SIZE.fullmatch(value.strip()):
                return {"world_size": int(value)}
    return {}


def _ns(seconds: pl.Expr) -> pl.Expr:
    """Seconds as recorded (32-bit floats) in whole nanoseconds."""
    return (seconds * _NS).round().cast(pl.Int64)
