"""The command line as a user meets it: what is printed where, in which language, and with which exit code."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stepscope.cli import app
from stepscope.store.schema import SCHEMA_VERSION
from support.commands import ENGLISH, Command, Outcome
from support.limits import HANGS_AFTER_S
from support.mini_trace import complete, slices_in, write_capture, write_rank, write_trace, write_unreadable

_MAIN = "from stepscope.cli import main; main()"
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_COMMANDS = [
    (command.name or command.callback.__name__).replace("_", "-")
    for command in app.registered_commands
    if command.callback and not command.hidden
]


def _process(*arguments: object, program: str = _MAIN, **environment: str) -> Outcome:
    """Run the command as its own process, as a user does."""
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_AFTER_S,
        env={**os.environ, **ENGLISH, **environment},
    )
    assert "Traceback" not in result.stdout + result.stderr
    return Outcome(result.returncode, result.stdout, result.stderr)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with one note: it no step marks."""
    events = [complete("aten::mm", f"{place * 10}.250", "5.125") for place in range(4)]
    return write_trace(tmp_path_factory.mktemp("commands") / "trace.json", events)


@pytest.fixture(scope="module")
def store(trace: Path) -> Path:
    return trace.parent / "store"


def _document(result: Outcome) -> dict[str, Any]:
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert list(document) == ["schema", "run", "notes", "note_groups", "data"]
    assert isinstance(document, dict)
    return document


class TestHelp:
    def test_it_lists_all_commands(self) -> None:
        result = _process("--help")
        assert result.code == 0
        for command in _COMMANDS:
            assert re.search(rf"^\s+{command}\s", result.out, re.MULTILINE), command

    @pytest.mark.parametrize("command", _COMMANDS)
    def test_every_command_explains_itself(self, stepscope: Command, command: str) -> None:
        result = stepscope(command, "-h")
        assert result.code == 0
        assert "--lang" in result.out

    def test_the_version_is_reported(self, stepscope: Command) -> None:
        from stepscope import __version__

        assert stepscope("--version").out == f"stepscope {__version__}\n"


class TestExitCodes:
    def test_fine_is_0(self, trace: Path, store: Path) -> None:
        assert _process("ingest", trace, "--store", store).code == 0

    def test_no_answer_is_1(self, trace: Path, store: Path) -> None:
        result = _process("memory", trace, "--store", store)
        assert (result.code, result.out) == (1, ""), result.err
        assert "Memory was not recorded" in result.err

    @pytest.mark.parametrize(("source_goes_too", "code", "says"), [(False, 0, ""), (True, 3, "cannot be read again")])
    def test_a_store_that_vanishes_is_read_again_from_its_source(
        self, source_goes_too: bool, code: int, says: str, trace: Path, tmp_path: Path
    ) -> None:
        capture = Path(shutil.copy(trace, tmp_path / "trace.json"))
        also = "os.remove(sys.argv[2])" if source_goes_too else "pass"
        program = (
            "import os, shutil, sys, stepscope.run as run\n"
            "ingest = run.ingest\n"
            "def vanish(*a, **k):\n"
            f"    done = ingest(*a, **k); shutil.rmtree(done.store.directory); {also}; return done\n"
            f"run.ingest = vanish\n{_MAIN}"
        )
        result = _process("sql", capture, "SELECT count(*) FROM slices", "--store", tmp_path / "store", program=program)
        assert result.code == code, result.err
        assert says in result.err

    @pytest.mark.parametrize(
        "arguments",
        [
            ["nonsense"],
            ["ingest"],
            ["ingest", "{trace}", "--nonsense"],
            ["ingest", "{trace}", "--lang", "fr"],
            ["ingest", "{trace}", "--window", "nonsense"],
            ["ingest", "{trace}", "--source", "nonsense"],
            ["ingest", "{capture}", "--store", "{capture}/store"],
            ["sql", "{trace}", "DROP TABLE slices"],
            ["sql", "{trace}", "SELECT nonsense"],
            ["export", "{trace}", "--to", "nonsense", "--out", "{out}"],
            ["export", "{trace}", "--to", "chrome", "--out", "{out}", "--rank", "99"],
            ["export", "{trace}", "--to", "chrome", "--out", "{trace}", "--force"],
        ],
        ids=" ".join,
    )
    def test_wrong_usage_is_2(
        self, stepscope: Command, trace: Path, store: Path, tmp_path: Path, arguments: list[str]
    ) -> None:
        capture = tmp_path / "capture"
        capture.mkdir()
        (capture / "trace.json").write_bytes(trace.read_bytes())
        before = trace.read_bytes()
        filled = [word.format(trace=trace, capture=capture, out=tmp_path / "out") for word in arguments]
        if arguments[0] in ("sql", "export"):
            filled += ["--store", str(store)]
        result = stepscope(*filled)
        assert result.code == 2, result.err
        assert result.err.strip()
        assert result.out == ""
        assert [file.name for file in capture.iterdir()] == ["trace.json"]
        assert trace.read_bytes() == before

    @pytest.mark.parametrize("content", [None, b"", b"hello", b"\x1f\x8b\x08\x00broken", b'{"traceEvents": ['])
    def test_unreadable_input_is_3(self, stepscope: Command, tmp_path: Path, content: bytes | None) -> None:
        file = tmp_path / "trace.json"
        if content is not None:
            file.write_bytes(content)
        result = stepscope("ingest", file)
        assert result.code == 3, result.err
        assert result.err.startswith("stepscope: ")
        assert str(file) in result.err
        assert result.out == ""

    def test_a_process_ends_with_these_codes(self, trace: Path, store: Path, tmp_path: Path) -> None:
        assert _process("sql", trace, "DROP TABLE slices", "--store", store).code == 2
        assert _process("ingest", tmp_path / "nowhere").code == 3

    def test_a_capture_of_which_one_rank_is_readable_is_fine(self, stepscope: Command, tmp_path: Path) -> None:
        capture = write_capture(tmp_path / "capture", [0, 1])
        write_unreadable(capture / "rank1.json", 1, world_size=2)
        result = stepscope("ingest", capture)
        assert result.code == 0
        assert "Rank 1 is missing" in result.err


class TestJson:
    def test_ingest_tells_what_it_read(self, tmp_path: Path) -> None:
        trace = write_rank(tmp_path / "trace.json", rank=2, world_size=4)
        size, count = trace.stat().st_size, sum(slices_in(trace).values())
        document = _document(_process("ingest", trace, "--json"))
        assert document["schema"] == "stepscope.ingest/1"
        assert document["run"] == {
            "path": str(trace),
            "paths": [str(trace)],
            "window": "trace",
            "windows": ["trace"],
            "ranks": [2],
            "readers": ["kineto"],
            "schema_version": SCHEMA_VERSION,
        }
        data = document["data"]
        assert {key: data[key] for key in ("events", "bytes", "read_bytes")} == {
            "events": count,
            "bytes": size,
            "read_bytes": size,
        }
        assert data["seconds"] >= 0
        assert data["mb_per_s"] >= 0
        assert Path(data["store"]).is_dir()
        (rank,) = data["ranks"]
        assert rank.pop("seconds") >= 0
        assert rank == {
            "rank": 2,
            "source": str(trace),
            "reader": "kineto",
            "events": count,
            "bytes": size,
            "read_now": True,
        }
        assert data["tables"]["slices"] == count
        assert 0 not in data["tables"].values()

        again = _document(_process("ingest", trace, "--json"))["data"]
        assert (again["events"], again["read_bytes"], again["mb_per_s"]) == (count, 0, None)
        assert [rank["read_now"] for rank in again["ranks"]] == [False]

    def test_sql_gives_rows(self, stepscope: Command, trace: Path, store: Path) -> None:
        query = "SELECT name, start_ns, dur_ns FROM slices ORDER BY start_ns"
        document = _document(stepscope("sql", trace, query, "--json", "--store", store))
        assert document["schema"] == "stepscope.sql/1"
        expected = [
            {"name": name, "start_ns": start, "dur_ns": dur}
            for name, start, dur in sorted(slices_in(trace), key=lambda facts: facts[1])
        ]
        assert document["data"] == expected

    def test_numbers_are_numbers_and_what_json_lacks_is_null(
        self, stepscope: Command, trace: Path, store: Path
    ) -> None:
        query = (
            "SELECT max(dur_ns) * 0.001 AS dur_us, sum(dur_ns) AS total_ns, 'NaN'::DOUBLE AS nothing, "
            "avg(dur_ns) AS mean_ns, [1, 2] AS list, NULL AS missing, DATE '2024-02-29' AS day FROM slices"
        )
        (row,) = _document(stepscope("sql", trace, query, "--json", "--store", store))["data"]
        assert row == {
            "dur_us": 5.125,
            "total_ns": 20500,
            "nothing": None,
            "mean_ns": 5125.0,
            "list": [1, 2],
            "missing": None,
            "day": "2024-02-29",
        }

    def test_an_empty_answer_is_an_empty_list(self, stepscope: Command, trace: Path, store: Path) -> None:
        document = _document(stepscope("sql", trace, "SELECT * FROM allocations", "--json", "--store", store))
        assert document["data"] == []

    def test_notes_stand_in_the_document_and_not_beside_it(self, stepscope: Command, trace: Path, store: Path) -> None:
        result = stepscope("sql", trace, "SELECT 1", "--json", "--store", store)
        assert result.err == ""
        (note,) = _document(result)["notes"]
        assert note == {
            "code": "no_step_marks",
            "level": "note",
            "message": "trace.json has no step marks, so the whole window counts as one step. To get them, give the "
            "PyTorch or MindSpore profiler a schedule and call step() once per iteration.",
            "rank": 0,
            "file": "trace.json",
            "place": "",
            "count": 1,
            "params": {},
        }

    def test_windows_are_listed_and_one_is_chosen(self, stepscope: Command, tmp_path: Path) -> None:
        for span in (1000, 2000):
            write_rank(tmp_path / "capture" / f"worker.{span}.pt.trace.json", steps=span // 1000)
        for chosen, extra in (("worker.2000", []), ("worker.1000", ["--window", "worker.1000"])):
            document = _document(stepscope("ingest", tmp_path / "capture", "--json", *extra))
            assert document["run"]["windows"] == ["worker.1000", "worker.2000"]
            assert document["run"]["window"] == chosen


class TestTables:
    def test_notes_go_to_standard_error(self, trace: Path, store: Path) -> None:
        result = _process("sql", trace, "SELECT count(*) AS calls FROM slices", "--store", store / "of its own")
        assert result.code == 0
        assert result.out.split() == ["calls", "4"]
        assert "no step marks" in result.err

    def test_csv_can_be_read_back(self, stepscope: Command, trace: Path, store: Path) -> None:
        query = "SELECT 'a,\"b\"' AS text, 1 AS number, [1, 2] AS list, NULL AS missing"
        result = stepscope("sql", trace, query, "--csv", "--store", store)
        assert list(csv.reader(io.StringIO(result.out))) == [
            ["text", "number", "list", "missing"],
            ['a,"b"', "1", "[1, 2]", ""],
        ]

    def test_text_of_a_trace_is_no_markup(self, stepscope: Command, tmp_path: Path) -> None:
        name = "[bold red]aten::[/nonsense] \\[x]"
        trace = write_trace(tmp_path / "trace.json", [complete(name, "1.000", "1.000")])
        result = stepscope("sql", trace, "SELECT name FROM slices")
        assert result.code == 0
        assert name in result.out

    def test_a_terminal_that_knows_no_chinese_does_no_harm(self, tmp_path: Path) -> None:
        trace = write_trace(tmp_path / "trace.json", [complete("注意力 ✓", "1.000", "1.000")])
        result = _process("sql", trace, "SELECT name FROM slices", PYTHONIOENCODING="ascii")
        assert result.code == 0, result.err

    def test_a_reader_that_goes_away_is_no_error_to_talk_about(self, trace: Path, store: Path) -> None:
        query = "SELECT range, 'a long line to fill the pipe of the reader' FROM range(5000)"
        for form in ("--csv", "--json"):
            command = [sys.executable, "-c", _MAIN, "sql", str(trace), query, form, "--store", str(store)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                assert process.stderr is not None
                assert process.stdout.readline()
                process.stdout.close()
                errors = process.stderr.read()
            assert "Traceback" not in errors
            assert "Broken" not in errors
            assert "Exception ignored" not in errors


class TestLanguage:
    def test_notes_and_reports_are_chinese_when_asked_for(self, stepscope: Command, trace: Path, store: Path) -> None:
        result = stepscope("ingest", trace, "--store", store, "--lang", "zh")
        assert "没有迭代标记" in result.err
        assert "no step marks" not in result.err
        assert "存储" in result.out

    def test_notes_of_a_document_are_chinese_when_asked_for(self, stepscope: Command, trace: Path, store: Path) -> None:
        result = stepscope("sql", trace, "SELECT 1", "--json", "--store", store, "--lang", "zh")
        (note,) = _document(result)["notes"]
        assert note["code"] == "no_step_marks"
        assert note["message"].startswith("trace.json 没有迭代标记")

    @pytest.mark.parametrize(
        ("arguments", "environment", "chinese"),
        [
            (["--lang", "zh"], {}, True),
            ([], {"LANG": "zh_CN.UTF-8"}, True),
            ([], {"LANG": "en_US.UTF-8", "STEPSCOPE_LANG": "zh"}, True),
            (["--lang", "en"], {"LANG": "zh_CN.UTF-8"}, False),
            ([], {"LANG": "de_DE.UTF-8"}, False),
        ],
    )
    def test_errors_are_in_the_language_of_the_user(
        self,
        stepscope: Command,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        arguments: list[str],
        environment: dict[str, str],
        chinese: bool,
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        result = stepscope("ingest", tmp_path / "nowhere", *arguments)
        assert result.code == 3
        assert bool(_CHINESE.search(result.err)) == chinese


class TestExport:
    def test_what_was_written_is_reported(self, stepscope: Command, trace: Path, store: Path, tmp_path: Path) -> None:
        out = tmp_path / "new" / "out.json"
        result = stepscope("export", trace, "--to", "chrome", "--out", out, "--store", store)
        assert result.code == 0
        assert str(out) in result.out
        assert slices_in(out) == slices_in(trace)

    def test_nothing_is_replaced_without_force(
        self, stepscope: Command, trace: Path, store: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "out.json"
        out.write_text("mine")
        arguments = ["export", trace, "--to", "chrome", "--out", out, "--store", store]
        result = stepscope(*arguments)
        assert (result.code, out.read_text()) == (2, "mine")
        assert "--force" in result.err
        assert stepscope(*arguments, "--force").code == 0
        assert slices_in(out) == slices_in(trace)

    def test_a_place_that_cannot_be_written_is_a_clear_error(
        self, stepscope: Command, trace: Path, store: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        out = tmp_path / "file" / "out.json"
        result = stepscope("export", trace, "--to", "chrome", "--out", out, "--store", store)
        assert result.code == 3
        assert "cannot be written" in result.err


def test_a_failure_of_our_own_is_noted_without_a_traceback(trace: Path, store: Path) -> None:
    program = f"import stepscope.run as run\nrun.Run.sql = lambda *_: 1 / 0\n{_MAIN}"
    result = _process("sql", trace, "SELECT 1", "--store", store, program=program)
    assert result.code == 70
    assert "ZeroDivisionError" in result.err
    assert "STEPSCOPE_DEBUG" in result.err


def test_input_files_are_never_changed(stepscope: Command, tmp_path: Path) -> None:
    capture = write_capture(tmp_path / "capture", [0])
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in capture.iterdir()}
    for arguments in (
        ["ingest", capture],
        ["ingest", capture, "--again"],
        ["sql", capture, "SELECT 1"],
        ["export", capture, "--to", "chrome", "--out", tmp_path / "out.json.gz"],
        ["export", capture, "--to", "parquet", "--out", tmp_path / "tables"],
    ):
        assert stepscope(*arguments).code == 0
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in capture.iterdir()} == before
