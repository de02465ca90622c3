"""Pieces of tables become files with all columns of the table, and the rank in each row."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from stepscope.store import rank_writer
from stepscope.store.rank_writer import RankWriter
from stepscope.store.schema import TABLES


def test_pieces_of_a_table_are_joined_in_order_and_carry_the_rank(tmp_path: Path) -> None:
    out = RankWriter(tmp_path, 7)
    out.add("details", pl.DataFrame({"slice": [3, 4], "json": ["{}", None]}))
    out.add("details", pl.DataFrame({"slice": [5]}))
    assert out.close() == {"details": {"details-0.parquet": 3}}
    written = pl.read_parquet(tmp_path / "details-0.parquet")
    assert written.schema == TABLES["details"].schema
    assert written.rows() == [(7, 3, "{}"), (7, 4, None), (7, 5, None)]


def test_a_rank_that_a_piece_states_is_kept_beside_pieces_that_state_none(tmp_path: Path) -> None:
    out = RankWriter(tmp_path, 7)
    out.add("details", pl.DataFrame({"slice": [1]}))
    out.add("details", pl.DataFrame({"rank": [2, None], "slice": [2, 3]}))
    out.close()
    assert pl.read_parquet(tmp_path / "details-0.parquet").select("rank", "slice").rows() == [(7, 1), (2, 2), (None, 3)]


def test_a_table_without_ranks_gets_none(tmp_path: Path) -> None:
    out = RankWriter(tmp_path, 7)
    out.add("groups", pl.DataFrame({"group": ["a"]}))
    out.close()
    assert pl.read_parquet(tmp_path / "groups-0.parquet").schema == TABLES["groups"].schema


def test_empty_pieces_make_no_file(tmp_path: Path) -> None:
    out = RankWriter(tmp_path, 0)
    out.add("details", pl.DataFrame())
    assert out.close() == {}
    assert list(tmp_path.iterdir()) == []


def test_what_waits_is_written_when_it_is_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_writer, "_FLUSH_BYTES", 1_000)
    out = RankWriter(tmp_path, 0)
    for number in range(3):
        out.add("details", pl.DataFrame({"slice": [number], "json": ["x" * 1_500]}))
    assert out.close() == {"details": {f"details-{number}.parquet": 1 for number in range(3)}}
    found = [pl.read_parquet(tmp_path / f"details-{number}.parquet")["slice"].item() for number in range(3)]
    assert found == [0, 1, 2]


def test_a_column_that_the_table_has_not_is_refused(tmp_path: Path) -> None:
    out = RankWriter(tmp_path, 0)
    out.add("details", pl.DataFrame({"slice": [1], "colour": ["red"]}))
    with pytest.raises(ValueError, match="colour"):
        out.close()
