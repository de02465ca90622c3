"""Answers as CSV: every list is a table of its own, with rank and step beside its entries."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from stepscope.analysis.answer import Answer
from stepscope.report.csv_tables import tables
from support.commands import Command
from support.traces import document, training_steps, write


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path / "trace.json", document(training_steps()))


def test_lists_within_entries_are_tables_of_their_own() -> None:
    rows = [
        {"rank": 0, "step": 4, "length_us": 7.0, "path": [{"name": "a", "us": 3.0}, {"name": "b", "us": 4.0}]},
        {"rank": 1, "step": 5, "length_us": 2.0, "path": []},
    ]
    found = tables("critical-path", Answer(rows, []))
    assert {name: frame.rows(named=True) for name, frame in found.items()} == {
        "critical-path": [{"rank": 0, "step": 4, "length_us": 7.0}, {"rank": 1, "step": 5, "length_us": 2.0}],
        "critical-path_path": [
            {"rank": 0, "step": 4, "name": "a", "us": 3.0},
            {"rank": 0, "step": 4, "name": "b", "us": 4.0},
        ],
    }


def test_other_nested_values_stay_in_their_cell() -> None:
    found = tables("q", Answer([{"rank": 0, "sizes": [1, 2], "range": {"low": 1}}], []))
    assert found["q"].equals(pl.DataFrame({"rank": [0], "sizes": ["[1, 2]"], "range": ['{"low": 1}']}))


@pytest.mark.parametrize("question", ["critical-path", "launches", "operators", "steps"])
def test_files_hold_what_the_document_holds(question: str, stepscope: Command, trace: Path, tmp_path: Path) -> None:
    data = json.loads(stepscope(question, trace, "--json", "--store", tmp_path / "store").out)["data"]
    assert stepscope(question, trace, "--csv", tmp_path / "out", "--store", tmp_path / "store").code == 0
    written = {path.stem: _rows(path) for path in sorted((tmp_path / "out").iterdir())}
    lists = {f"{question}_{key}": value for key, value in data.items()} if isinstance(data, dict) else {question: data}
    for name, rows in lists.items():
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            assert len(written[name]) == len(rows)
            for key, value in rows[0].items():
                if isinstance(value, list) and value and isinstance(value[0], dict):
                    assert len(written[f"{name}_{key}"]) == sum(len(row[key]) for row in rows)


def test_a_place_that_cannot_be_written_is_named(stepscope: Command, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    outcome = stepscope("summary", trace, "--csv", tmp_path / "a file" / "tables")
    assert outcome.code == 3
    assert str(tmp_path / "a file" / "tables") in outcome.err


def test_standard_output_says_what_it_leaves_out(stepscope: Command, trace: Path, tmp_path: Path) -> None:
    result = stepscope("launches", trace, "--csv", "--store", tmp_path / "store")
    assert result.out.count("\n") > 1
    assert "launches_" in result.err
    assert "Use --csv DIR" in result.err


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
