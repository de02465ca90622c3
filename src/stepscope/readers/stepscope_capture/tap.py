"""Stands between another reader and the tables, so that what it read can be joined with what we recorded."""

from __future__ import annotations

import polars as pl

from stepscope.store.rank_writer import RankWriter

_KEPT = ("ranks", "steps", "groups", "collectives")
#: What MindSpore's data engine samples, on the machine's steady clock.
_OF_THE_DATA_ENGINE = ("cpu", "counters", "pipeline_samples")


class Tap(RankWriter):
    """Hands rows on, keeps those that we complete, and counts ids, so that ours follow."""

    def __init__(self, out: RankWriter, steady_offset_ns: int | None = None) -> None:
        """``steady_offset_ns`` is what to add to the steady clock, where the data engine's samples are read."""
        super().__init__(out.directory, out.rank)
        self._out = out
        self._steady_offset_ns = steady_offset_ns
        self.first_slice = 0
        self.first_track = 0
        self.memory_devices: set[str] = set()  # whose memory the trace follows, block by block
        self._kept: dict[str, list[pl.DataFrame]] = {table: [] for table in _KEPT}

    def add(self, table: str, frame: pl.DataFrame) -> None:
        if frame.is_empty():
            return
        if self._steady_offset_ns is not None and table in _OF_THE_DATA_ENGINE:
            frame = frame.with_columns(pl.col("time_ns") + self._steady_offset_ns)
        if table in ("slices", "details"):
            self.first_slice = max(self.first_slice, 1 + int(frame["slice"].max() or 0))  # type: ignore[arg-type]
        if table == "tracks":
            self.first_track = max(self.first_track, 1 + int(frame["track"].max() or 0))  # type: ignore[arg-type]
        if table == "memory":
            self.memory_devices |= set(frame["device"].drop_nulls().cast(pl.String))
        if table in self._kept:
            self._kept[table].append(frame)
        else:
            self._out.add(table, frame)

    def flush(self, table: str) -> None:
        self._out.flush(table)

    def kept(self, table: str) -> pl.DataFrame:
        """What was read of a table that we complete."""
        frames = self._kept[table]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()
