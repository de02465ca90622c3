"""Batches as the training loop took them: ``device_queue_profiling`` (sink mode) and ``dataset_iterator_profiling``.

Lines are ``type extra batch value [time]``. Type 0 is a duration in ms: extra 0 from the pipeline, 1 to the device, 2
both. Type 1 is the queue between: extra its length, value its fill. The time is in ms of the host's steady clock.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import matched
from stepscope.readers.slices.track_numbers import TrackNumbers
from stepscope.store.rank_writer import RankWriter

_LINE: Final = (
    r"^\s*(?<type>[01])\s+(?<extra>\d{1,9})\s+(?<batch>\d{1,15})\s+(?<value>\d{1,12})(?:\s+(?<time>\d{1,12}))?\s*$"
)
_DURATIONS: Final = {0: "get_us", 1: "push_us", 2: "total_us"}


def read_batches(path: Path, reading: Reading, track_numbers: TrackNumbers, beside: Reported | None = None) -> None:
    """One row of ``pipeline_batches`` per batch; the queue's fill over time as a counter.

    ``beside`` is given for an iterator that does not feed the training: its numbers go there instead.
    """
    batches_text = matched(path, _LINE, reading)
    if batches_text.is_empty():
        return
    lines = batches_text.select(pl.all().cast(pl.Int64))
    is_duration = pl.col("type") == 0
    unknown = lines.filter(is_duration & (pl.col("extra") > 2)).height
    reading.notes.add("mindspore_rows_dropped", file=path.name, place="durations of unknown kind", count=unknown)
    # A batch number that comes again (another pipeline, another epoch) is another batch.
    measure = pl.when(is_duration).then("extra").otherwise(-1)
    numbered = lines.filter(~is_duration | (pl.col("extra") <= 2)).with_columns(
        again=pl.int_range(pl.len()).over("batch", measure)
    )
    rows = _rows(numbered)
    if beside is None:
        reading.out.add("pipeline_batches", rows)
    else:
        reading.notes.add("pipeline_second_iterator", file=path.name, count=rows.height)
        for row in rows.iter_rows(named=True):
            for metric in rows.columns[1:]:
                beside.add(path.name, f"batch {row['batch']}", metric, row[metric])
    _fill_over_time(lines, path, reading.out, track_numbers)


def _rows(lines: pl.DataFrame) -> pl.DataFrame:
    durations = [
        (pl.col("value").filter((pl.col("type") == 0) & (pl.col("extra") == extra)).first() * 1000.0).alias(name)
        for extra, name in _DURATIONS.items()
    ]
    queue = pl.col("type") == 1
    return (
        lines.group_by("batch", "again", maintain_order=True)
        .agg(
            *durations,
            queue=pl.col("value").filter(queue).first(),
            capacity=pl.col("extra").filter(queue).first(),
        )
        .drop("again")
    )


def _fill_over_time(lines: pl.DataFrame, path: Path, out: RankWriter, track_numbers: TrackNumbers) -> None:
    fill = lines.filter((pl.col("type") == 1) & pl.col("time").is_not_null())
    if fill.is_empty():
        return
    name = "host queue" if path.name.startswith("device_queue") else "iterator queue"
    track = track_numbers.track("counter", name, "data pipeline")
    out.add(
        "counters",
        fill.select(
            pl.lit(track).alias("track"), time_ns=pl.col("time") * 10**6, value=pl.col("value").cast(pl.Float64)
        ).sort("time_ns", maintain_order=True),
    )
