"""Rows of one rank in a table of all ranks, however the ranks stand in its files."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import polars as pl
import pytest

from stepscope.store import merged_table
from stepscope.store.merged_table import MergedTable

_TOGETHER = [[3, 3, 3], [1], [7, 7]]
_SCATTERED = [[3, 1], [3, 1, 7]]


@pytest.mark.parametrize("ranks_of_files", [_TOGETHER, _SCATTERED])
@pytest.mark.parametrize("most_rows_held", [0, 100])
def test_rows_of_ranks_are_those_a_filter_gives(
    ranks_of_files: list[list[int]], most_rows_held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held in memory or not; of one rank, of several, of one that is not there."""
    monkeypatch.setattr(merged_table, "_MOST_ROWS_HELD", most_rows_held)
    files, value = [], 0
    for number, ranks in enumerate(ranks_of_files):
        files.append(tmp_path / f"steps [{number}].parquet")  # no pattern, whatever it looks like
        rows = {"rank": ranks, "value": list(range(value, value + len(ranks)))}
        pl.DataFrame(rows, schema={"rank": pl.Int32, "value": pl.Int64}).write_parquet(files[-1])
        value += len(ranks)
    every = list(zip(chain(*ranks_of_files), range(value), strict=True))
    table = MergedTable(files, value)
    for asked in ([1], [3], [7], [5], [3, 7], [7, 1, 5]):
        assert table.of_ranks(asked).collect().rows() == [row for row in every if row[0] in asked]
