"""Counter events to series: each numeric argument is a series of its own."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.arrays import NULL
from stepscope.readers.files.numbers import number
from stepscope.readers.trace_json.event_columns import Batch, EventColumns, arguments
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter


class CounterEvents:
    """Grows by batches of counter events."""

    def __init__(self, columns: EventColumns) -> None:
        self.columns = columns
        self.numbers: set[int] = set()
        self._frames: list[pl.DataFrame] = []

    def add(self, batch: Batch) -> None:
        if not len(batch):
            return
        track: list[int] = []
        place_of: list[int] = []
        value_of: list[float] = []
        tracks, names = list(self.columns.tracks), self.columns.names.texts()
        for row, raw in enumerate(batch.arguments):
            name, process = names[batch.name[row]], tracks[batch.track[row]][0]
            for key, value in arguments(raw).items():
                parsed = number(value)
                if parsed is not None:
                    label = f"{name} {key}".strip() if key != name else key
                    track.append(self.columns.tracks[process, label])
                    place_of.append(row)
                    value_of.append(parsed)
        self.numbers.update(track)
        self._frames.append(
            pl.DataFrame(
                {
                    "track": np.array(track, np.int32),
                    "time_ns": batch.time[place_of],
                    "value": np.array(value_of, np.float64),
                }
            )
        )

    def write(self, out: RankWriter, base_ns: int, notes: Notes, file: str) -> None:
        if not self._frames:
            return
        frame = pl.concat(self._frames)
        placed = frame.filter(pl.col("time_ns") != NULL)
        notes.add("event_without_time", file=file, count=frame.height - placed.height)
        out.add(
            "counters", placed.with_columns(pl.col("time_ns") + base_ns).sort("track", "time_ns", maintain_order=True)
        )
