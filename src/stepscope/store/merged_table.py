"""A table that holds the rows of all ranks: those of one rank without looking through those of all others.

Work that goes from rank to rank asks such tables once per rank. Each time to read all of them would make it grow with
the square of the ranks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

# Such a table stays in memory; of a larger one it is known where the rows of each rank begin.
_MOST_ROWS_HELD: Final = 100_000


class MergedTable:
    """The rows of a table with a column ``rank``, in which those of one rank stand together."""

    def __init__(self, files: list[Path], rows: int) -> None:
        scan = pl.scan_parquet(files, glob=False)
        held = scan.collect() if rows <= _MOST_ROWS_HELD else None
        ranks = scan.select("rank").collect()["rank"] if held is None else held["rank"]
        self._table = scan if held is None else held.lazy()
        self._held = held
        runs = ranks.rle().struct.unnest().with_columns(first=pl.col("len").cum_sum() - pl.col("len"))
        self._stretches = {rank: (first, length) for length, rank, first in runs.iter_rows()}
        self._each_together = len(self._stretches) == len(runs)

    def of_ranks(self, ranks: list[int]) -> pl.LazyFrame:
        """The rows of some ranks, lazily."""
        if len(ranks) == 1 and self._each_together:
            first, length = self._stretches.get(ranks[0], (0, 0))
            return self._table.slice(first, length) if self._held is None else self._held.slice(first, length).lazy()
        return self._table.filter(pl.col("rank").is_in(ranks))
