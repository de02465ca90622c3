"""Rows of all ranks of a job, read again rank by rank: many of them lie in a temporary directory, not in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from stepscope.analysis.cluster.calls.scratch import scratch_directory

#: Rows held at once, of whatever is worked out over all ranks.
ROWS_AT_ONCE: Final = 1 << 17
_ROWS_READ: Final = 1 << 14  # the smallest part of a file that is read


class SpilledRows:
    """Rows with a column ``rank``, added in any order. The files go with the object."""

    def __init__(self, *frames: pl.DataFrame) -> None:
        self._frames: list[pl.DataFrame] = []
        self._directory: Path | None = None
        self._files: list[Path] = []
        self._of_rank: Counter[int] = Counter()
        for frame in frames:
            self.add(frame)

    def __len__(self) -> int:
        return self._of_rank.total()

    def add(self, rows: pl.DataFrame) -> None:
        """Keep some more."""
        self._of_rank.update(dict(rows.group_by("rank").len().iter_rows()))
        self._frames.append(rows)
        if sum(map(len, self._frames)) > ROWS_AT_ONCE:
            self._write()

    def of_ranks(self, ranks: list[int]) -> pl.DataFrame:
        """All rows of some ranks, those of a rank one after the other."""
        return self.where(pl.col("rank").is_between(min(ranks), max(ranks)) & pl.col("rank").is_in(ranks))

    def where(self, wanted: pl.Expr) -> pl.DataFrame:
        """Some rows of all ranks, those of a rank one after the other; the caller knows that they are few."""
        parts = [frame.filter(wanted) for frame in self._frames]
        if self._files:
            parts.append(pl.scan_parquet(self._files, glob=False).filter(wanted).collect())
        return pl.concat(parts).sort("rank", maintain_order=True)

    def blocks(self, ranks: list[int]) -> Iterator[list[int]]:
        """Ranks in their order, as many together as may be read at once."""
        block: list[int] = []
        rows = 0
        for rank in ranks:
            if block and rows + self._of_rank[rank] > ROWS_AT_ONCE:
                yield block
                block, rows = [], 0
            block.append(rank)
            rows += self._of_rank[rank]
        if block:
            yield block

    def _write(self) -> None:
        if self._directory is None:
            self._directory = scratch_directory(self)
        file = self._directory / f"{len(self._files)}.parquet"
        rows = pl.concat(self._frames).sort("rank", maintain_order=True)
        rows.write_parquet(file, compression="lz4", row_group_size=_ROWS_READ)
        self._files.append(file)
        self._frames.clear()
