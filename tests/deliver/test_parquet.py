"""A run as Parquet files: the tables as they are, for other tools."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import stepscope
from stepscope import deliver
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.run import Run
from stepscope.store import schema
from support.mini_trace import slices_in, write_capture


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("parquet") / "capture", [0, 1])


@pytest.fixture(scope="module")
def run(capture: Path) -> Run:
    return stepscope.load(capture, store=capture.parent / "store")


def _export(run: Run, capture: Path, out: Path, ranks: list[int] | None = None, *, force: bool = False) -> Path:
    assert list(deliver.export(run.store, "parquet", out, captures=[capture], ranks=ranks, force=force)) == [out]
    return out


def test_every_table_with_rows_is_a_file_with_the_same_rows(run: Run, capture: Path, tmp_path: Path) -> None:
    out = _export(run, capture, tmp_path / "out")
    filled = {name for name in schema.TABLES if run.table(name).collect().height}
    assert {"slices", "details", "ranks", "tracks", "steps", "links", "counters", "collectives"} <= filled
    assert {file.name for file in out.iterdir()} == {f"{name}.parquet" for name in filled}
    for name in filled:
        assert_frame_equal(pl.read_parquet(out / f"{name}.parquet"), run.table(name).collect())


def test_another_tool_reads_what_the_traces_say(run: Run, capture: Path, tmp_path: Path) -> None:
    out = _export(run, capture, tmp_path / "out")
    found = duckdb.connect().execute(
        f"SELECT rank, name, start_ns, dur_ns FROM read_parquet('{out / 'slices.parquet'}')"
    )
    expected = [(rank, *facts) for rank in (0, 1) for facts in slices_in(capture / f"rank{rank}.json").elements()]
    assert sorted(found.fetchall()) == sorted(expected)


def test_one_rank_can_be_had_alone(run: Run, capture: Path, tmp_path: Path) -> None:
    out = _export(run, capture, tmp_path / "out", [1])
    for file in out.iterdir():
        if "rank" in schema.TABLES[file.stem].schema:
            assert set(pl.read_parquet(file)["rank"]) <= {1}, file
    assert pl.read_parquet(out / "slices.parquet").height == sum(slices_in(capture / "rank1.json").values())


def test_what_is_there_is_kept_unless_forced(run: Run, capture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "old.parquet").write_text("mine")
    with pytest.raises(UsageError) as caught:
        _export(run, capture, out)
    assert caught.value.code == "out_exists"
    assert (out / "old.parquet").read_text() == "mine"
    _export(run, capture, out, force=True)
    assert (out / "slices.parquet").is_file()


@pytest.mark.parametrize("place", ["", "tables", "a/../tables"])
def test_a_place_inside_the_capture_is_refused(run: Run, capture: Path, place: str) -> None:
    before = sorted(capture.iterdir())
    with pytest.raises(UsageError) as caught:
        _export(run, capture, capture / place, force=True)
    assert caught.value.code == "out_inside_capture"
    assert sorted(capture.iterdir()) == before


def test_a_place_that_holds_the_capture_is_refused_even_by_force(tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "all" / "capture", [0])
    run = stepscope.load(capture, store=tmp_path / "store")
    with pytest.raises(UsageError):
        _export(run, capture, tmp_path / "all", force=True)
    assert (capture / "rank0.json").is_file()


def test_a_failure_leaves_nothing_and_keeps_what_was_there(
    run: Run, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = _export(run, capture, tmp_path / "out")
    before = sorted(file.name for file in out.iterdir())

    def full(_: object, __: object, directory: Path) -> None:
        directory.mkdir()
        (directory / "slices.parquet").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(deliver.parquet, "write", full)
    with pytest.raises(UnreadableInputError, match="No space left on device"):
        _export(run, capture, out, force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
    assert sorted(file.name for file in out.iterdir()) == before


def test_an_unknown_format_is_the_users_mistake() -> None:
    with pytest.raises(UsageError, match="chrome, cluster, parquet"):
        deliver.check_target("xlsx")
