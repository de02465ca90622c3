"""Writes the tables of one rank into a directory of its own, in pieces, so that memory stays bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from stepscope.store import schema
from stepscope.store.integrity import PRIVATE_FILE

_FLUSH_BYTES: Final = 32 << 20


class StoreWriteError(Exception):
    """A table could not become a file; ``reason`` is what the system said."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class RankWriter:
    """Takes frames in any number of pieces; ``close()`` tells which files hold how many rows."""

    def __init__(self, directory: Path, rank: int) -> None:
        self.directory = directory
        self.rank = rank
        self._waiting: dict[str, list[pl.DataFrame]] = {}
        self._waiting_bytes: dict[str, int] = {}
        self._files: dict[str, dict[str, int]] = {}
        self.out_of_range: dict[str, int] = {}  # rows that were dropped, per table

    def add(self, table: str, frame: pl.DataFrame) -> None:
        """Append rows; columns that the frame lacks become null, and the rank is filled in."""
        if frame.is_empty():
            return
        self._waiting.setdefault(table, []).append(frame)
        waiting = self._waiting_bytes.get(table, 0) + int(frame.estimated_size())
        self._waiting_bytes[table] = waiting
        if waiting > _FLUSH_BYTES:
            self.flush(table)

    def close(self) -> dict[str, dict[str, int]]:
        """Write what waits; rows per file, per table."""
        for table in list(self._waiting):
            self.flush(table)
        return self._files

    def flush(self, table: str) -> None:
        """Write what waits of a table."""
        frames = self._waiting.pop(table, [])
        if not frames:
            return
        self._waiting_bytes[table] = 0
        # Types and columns are settled once for many pieces, not for each.
        if any("rank" in frame.columns for frame in frames):
            frames = [self._with_rank(table, frame) for frame in frames]
        frame = pl.concat(frames, how="diagonal_relaxed") if len(frames) > 1 else frames[0]
        frame = self._conform(table, self._with_rank(table, frame))
        files = self._files.setdefault(table, {})
        name = f"{table}-{len(files)}.parquet"
        try:
            write(frame, self.directory / name)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise StoreWriteError(error) from error
        files[name] = frame.height

    def _conform(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        """The table's columns and types; rows with numbers beyond all measure go, and are counted."""
        try:
            return schema.conform(table, frame)
        except pl.exceptions.InvalidOperationError:
            fitting = schema.fitting(table, frame)
            self.out_of_range[table] = self.out_of_range.get(table, 0) + frame.height - fitting.height
            return schema.conform(table, fitting)

    def _with_rank(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        if "rank" in frame.columns or "rank" not in schema.TABLES[table].schema:
            return frame
        return frame.with_columns(rank=pl.lit(self.rank, pl.Int32))


def write(frame: pl.DataFrame | pl.LazyFrame, path: Path) -> None:
    """The one way a table becomes a file, for its owner alone: the capture may have been private.

    A lazy frame is never in memory as a whole. Statistics would cost a third more, and files are chosen by rank.
    """
    path.touch(PRIVATE_FILE)
    frame.lazy().sink_parquet(path, compression="zstd", compression_level=1, row_group_size=1 << 18, statistics=False)
