"""Terminal, ``--json``, HTTP and Python show the same value under the same name: every capture, every question.

Of the recordings of four ranks, which are alike, ``make test`` walks two and ``make soak`` the others.
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from rich.table import Table

import stepscope
from server.running import served
from stepscope.analysis.foundation.units import unit_of
from stepscope.cli import main
from stepscope.errors import NoAnswerError
from stepscope.facts.kernel_names import short_name
from stepscope.questions import QUESTIONS
from stepscope.questions.units import structures
from stepscope.report import tables
from stepscope.report.json_document import encoded
from stepscope.report.kernel_labels import readable_name, without_namespaces
from stepscope.run import Run
from stepscope.texts import text
from support.commands import ENGLISH
from support.mini_trace import write_capture
from support.samples import RECORDINGS, SHARED_DATA

#: Captures that lie one by one in a folder; each is opened by itself.
_FOLDERS = (
    "kineto",
    "ascend",
    "memory",
    "mindinsight",
    "outside/hta",
    "outside/msinsight",
    "outside/nsys",
    "outside/tb_plugin",
    "outside/tracelens",
)


def _only_in_soak(name: str) -> bool:
    return name.startswith("four_ranks") and name not in _OF_FOUR_RANKS


_NO_CAPTURE = {"parallel_strategy"}  # it describes a job, and recorded nothing of it
_NAMES = [
    f"{folder}/{path.name}"
    for folder in _FOLDERS
    for path in sorted((SHARED_DATA / folder).glob("*"))
    if path.name not in _NO_CAPTURE
] + (["outside/param_dlrm8"] if SHARED_DATA.is_dir() else [])
_OF_FOUR_RANKS = ("four_ranks_cpu_slow_data.tar.xz", "four_ranks_cuda_healthy.tar.xz")
_RECORDINGS = [
    pytest.param(path.name, marks=[pytest.mark.soak] if _only_in_soak(path.name) else [])
    for path in sorted([*RECORDINGS.glob("*.gz"), *RECORDINGS.glob("*.xz")])
]


def _method(run: Run, question: str) -> Callable[[], Any]:
    """``run.ranks`` are numbers, so that question is asked by name."""
    return partial(_data, run, question) if question == "ranks" else getattr(run, question.replace("-", "_"))


def _data(run: Run, question: str) -> Any:
    return run.ask(question).data


class Terminal:
    """The command within this process, and the rows of all tables that it shows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.table_rows: list[dict[str, str]] = []

    def call(self, *words: object) -> tuple[int, str]:
        """The exit code and what was printed."""
        self.table_rows.clear()
        self._monkeypatch.setattr(sys, "argv", ["stepscope", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        assert isinstance(left.value.code or 0, int)
        return int(left.value.code or 0), self._capsys.readouterr().out


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    for name, value in ENGLISH.items():
        monkeypatch.setenv(name, value)
    command = Terminal(monkeypatch, capsys)

    class Recorded(Table):
        """Keeps what stands below each heading, as text."""

        def add_row(self, *cells: Any, **more: Any) -> None:
            headings = [" ".join(str(column.header).split()) for column in self.columns]
            command.table_rows.append(dict(zip(headings, map(str, cells), strict=True)))
            super().add_row(*cells, **more)

    monkeypatch.setattr(tables, "Table", Recorded)
    return command


@pytest.mark.parametrize("name", _NAMES)
def test_real_captures(name: str, tmp_path: Path, terminal: Terminal) -> None:
    _walk(SHARED_DATA / name, tmp_path, terminal)


@pytest.mark.parametrize("name", _RECORDINGS)
def test_our_own_recordings(name: str, tmp_path: Path, terminal: Terminal) -> None:
    capture = RECORDINGS / name
    if name.endswith((".tar.gz", ".tar.xz")):
        with tarfile.open(capture) as archive:
            archive.extractall(tmp_path / "capture", filter="data")
        capture = tmp_path / "capture"
    _walk(capture, tmp_path / "store", terminal)


def test_a_written_capture(tmp_path: Path, terminal: Terminal) -> None:
    capture = write_capture(tmp_path / "capture", [0, 1], steps=3)
    _walk(capture, tmp_path / "kept", terminal)


def _walk(capture: Path, store: Path, terminal: Terminal) -> None:
    run = stepscope.load(capture, store=store, progress=False)
    answered = 0
    elsewhere: dict[str, list[dict[str, str]]] = {}
    with served(capture, store=store) as server:
        newest = next(entry for entry in server.settled() if entry["window"] == run.window)
        for question in QUESTIONS:
            words = (question, capture, "--store", store)
            code, printed = terminal.call(*words, "--json")
            reply = server.client.get(f"/api/run/{newest['id']}/{question}", params={"lang": "en"})
            method = _method(run, question)
            if code:
                assert (code, reply.status_code) == (1, 422), (question, reply.text)
                with pytest.raises(NoAnswerError):
                    method()
                continue
            answered += 1
            assert reply.text == printed, question
            document = json.loads(printed)
            assert document["data"] == _as_json(method()), question
            assert terminal.call(*words)[0] == 0
            entries = list(_entries(document, {}))
            units = _units(question)
            elsewhere[question] = [
                row for row in terminal.table_rows if not any(_shows(row, entry, units) for entry in entries)
            ]
    assert answered
    verdict, findings = run.diagnose().verdict, run.diagnose().findings
    assert verdict.finding in (None, *(finding.id for finding in findings[:1])), "the headline is the first finding"
    wrong = [f"{question}: {rows[0]}" for question, rows in elsewhere.items() if rows]
    assert not wrong, "\n".join(wrong)


def _as_json(data: Any) -> Any:
    plain = data.to_dicts() if isinstance(data, pl.DataFrame) else msgspec.to_builtins(data)
    return json.loads(encoded({"data": plain}))["data"]


def _entries(part: Any, above: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every object of a document, with the plain values of those around it."""
    if isinstance(part, list):
        for item in part:
            yield from _entries(item, above)
    elif isinstance(part, dict):
        own = above | {key: value for key, value in part.items() if not _holds_objects(value)}
        yield own
        for item in part.values():
            if isinstance(item, (dict, list)):
                yield from _entries(item, own)


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value)


def _units(question: str) -> dict[str, set[str]]:
    """The units of the fields of an answer; a name may be a count in one list and a number of a step in another."""
    units: dict[str, set[str]] = {}
    declared = QUESTIONS[question]
    for kind in (declared.type, *declared.beside.values()):
        for structure in structures(kind):
            for field in msgspec.structs.fields(structure):
                units.setdefault(field.name, set()).add(unit_of(field.type) or "")
    return units


def _shows(row: dict[str, str], entry: dict[str, Any], units: dict[str, set[str]]) -> bool:
    """Whether a row of a table shows this object: each heading names a field of it, each cell its value."""
    for heading, shown in row.items():
        words, _, unit = heading.removesuffix("]").partition(" [")
        named = [
            (field, own) for field in entry for own in units.get(field, ("",)) if tables.heading(field, own) == words
        ]
        if not any(_is_shown(entry, field, unit or own, shown) for field, own in named):
            return False
    return True


def _is_shown(entry: dict[str, Any], field: str, unit: str, shown: str) -> bool:
    value = entry[field]
    if field == "reason":  # the document has the key of the sentence and its values
        return shown == text(f"leak_reason.{value}", **entry["reason_values"])
    if field == "owner" and entry["blocks"] is None:  # no block has a name here: the document tells which kind it is
        return shown == text(f"memory_owner.{entry['kind']}")
    if field == "name" and value is None:
        return shown in ("", readable_name(None))
    if isinstance(value, str):  # long names are cut or shortened
        shortened = (value, short_name(value), without_namespaces(value))
        return shown in shortened or (len(shown) >= 40 and value.startswith(shown))
    return shown == tables.cell(value, unit)
