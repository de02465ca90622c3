"""Commands with several paths, and exports that name nobody, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from stepscope.questions import QUESTIONS
from support.commands import Command
from support.mini_trace import complete, slices_in, write_capture, write_rank, write_trace


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sorted(write_capture(tmp_path_factory.mktemp("several") / "capture", [0, 1]).iterdir())


@pytest.fixture(scope="module")
def store(files: list[Path]) -> Path:
    return files[0].parent.parent / "store"


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_takes_several_paths(stepscope: Command, files: list[Path], store: Path, question: str) -> None:
    result = stepscope(question, *files, "--json", "--store", store)
    if result.code == 1:  # a question that this data cannot answer
        assert result.err
        return
    assert result.code == 0, result.err
    run = json.loads(result.out)["run"]
    assert (run["ranks"], run["paths"], run["path"]) == ([0, 1], [str(file) for file in files], str(files[0].parent))


def test_options_may_stand_between_paths(stepscope: Command, files: list[Path], store: Path) -> None:
    result = stepscope("steps", files[1], "--json", files[0], "--rank", 1, "--store", store)
    assert {row["rank"] for row in json.loads(result.out)["data"]} == {1}


class TestSql:
    def test_the_query_comes_last(self, stepscope: Command, files: list[Path], store: Path) -> None:
        query = "SELECT rank, count(*) AS calls FROM slices GROUP BY rank ORDER BY rank"
        result = stepscope("sql", *files, query, "--json", "--store", store)
        counts = [{"rank": rank, "calls": sum(slices_in(file).values())} for rank, file in enumerate(files)]
        assert json.loads(result.out)["data"] == counts

    def test_a_forgotten_query_is_a_clear_error(self, stepscope: Command, files: list[Path], store: Path) -> None:
        for given in (files, files[:1]):
            result = stepscope("sql", *given, "--store", store)
            assert result.code == 2
            assert "the query is missing" in result.err


class TestMistakes:
    @pytest.mark.parametrize("command", ["ingest", "steps", "export", "sql"])
    def test_no_path_is_2(self, stepscope: Command, command: str) -> None:
        result = stepscope(command, *(["--to", "chrome", "--out", "x"] if command == "export" else []))
        assert (result.code, result.out) == (2, "")

    def test_a_missing_path_among_good_ones_is_3(self, stepscope: Command, files: list[Path], tmp_path: Path) -> None:
        result = stepscope("steps", *files, tmp_path / "nowhere.json", "--store", tmp_path / "store")
        assert (result.code, result.out) == (3, "")
        assert str(tmp_path / "nowhere.json") in result.err
        assert not (tmp_path / "store").exists()

    def test_two_runs_are_not_mixed_and_that_is_noted(self, stepscope: Command, tmp_path: Path) -> None:
        runs = [write_rank(tmp_path / name / "rank0.json").parent for name in ("a", "b")]
        result = stepscope("steps", *runs)
        assert result.code == 0
        assert "1 of the given paths" in result.err
        assert "--window" in result.err

    @pytest.mark.parametrize("place", ["out", "../capture"])
    def test_nothing_is_exported_into_any_of_the_paths(
        self, stepscope: Command, files: list[Path], store: Path, tmp_path: Path, place: str
    ) -> None:
        other = write_rank(tmp_path / "capture" / "rank2.json", 2, world_size=2).parent
        before = sorted(other.iterdir())
        out = other / place
        result = stepscope("export", *files, other, "--to", "parquet", "--out", out, "--force", "--store", store)
        assert result.code == 2, result.err
        assert sorted(other.iterdir()) == before


def test_export_redacts_when_asked(stepscope: Command, tmp_path: Path) -> None:
    frame = complete("/home/alice/secret/train.py(12): step", "1.000", "9.000", cat="python_function")
    trace = write_trace(tmp_path / "secret" / "trace.json", [frame])
    for options, name in (([], "/home/alice/secret/train.py(12): step"), (["--redact"], "train.py(12): step")):
        out = tmp_path / "out"
        assert stepscope("export", trace, "--to", "parquet", "--out", out, "--force", *options).code == 0
        found = pl.read_parquet(out / "slices.parquet")["name"].cast(pl.String).to_list()
        assert [text.partition("/")[2] if options else text for text in found] == [name]
        assert all(text.startswith("dir-") == bool(options) for text in found)
    assert "host-1" in stepscope("export", "--help").out
