"""A file that was cut off: half a number is never taken for a whole one, and what is dropped is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.readers.ascend.csv_table import CsvTable
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.numbers import MS
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import matched, read_csv, read_text
from stepscope.readers.mindspore_cpu.kernel_times import read_kernel_times
from stepscope.readers.msmemscope.dump_file import DUMP_COLUMNS, rows
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(Source(tmp_path, "", 0, ()), RankWriter(tmp_path, 0), Notes())


def _codes(reading: Reading) -> dict[str, int]:
    return {note.code: note.count for note in reading.notes.all()}


def _file(tmp_path: Path, content: str) -> Path:
    path = tmp_path / "file.csv"
    path.write_bytes(content.encode())
    return path


def test_of_a_dump(tmp_path: Path, reading: Reading) -> None:
    path = _file(
        tmp_path, "ID,Event,Event Type,Name,Timestamp(ns),Attr\n1,MALLOC,HAL,N/A,10,512\n2,MALLOC,HAL,N/A,11,5"
    )
    assert [row for frame in rows(path, DUMP_COLUMNS, reading) for row in frame["attr"]] == ["512"]
    assert _codes(reading) == {"last_line_cut": 1}


def test_of_times_of_kernels(tmp_path: Path, reading: Reading) -> None:
    path = _file(tmp_path, "Add;Add;100,4.61049\nMul;Mul;200,4.61")
    assert read_kernel_times(path, MS, reading)["dur_ns"].to_list() == [4_610_490]
    assert _codes(reading) == {"last_line_cut": 1}


def test_of_lines_that_match(tmp_path: Path, reading: Reading) -> None:
    path = _file(tmp_path, "1,17408\n2,174")
    assert matched(path, r"^(?<time>\d+),(?<size>\d+)$", reading)["size"].to_list() == ["17408"]
    assert _codes(reading) == {"last_line_cut": 1}


def test_of_a_vendors_table(tmp_path: Path, reading: Reading) -> None:
    path = _file(tmp_path, "Name,Size(KB)\na,17408\nb,174")
    assert [row for piece in CsvTable([path], reading).pieces() for row in piece.number("Size(KB)")] == [17408.0]
    assert _codes(reading)["ascend_row_cut"] == 1


def test_of_a_vendors_table_in_its_header(tmp_path: Path, reading: Reading) -> None:
    path = _file(tmp_path, "Name,Si")
    assert list(CsvTable([path], reading).pieces()) == []
    assert _codes(reading) == {"ascend_row_cut": 1}


def test_of_a_small_table_and_a_small_text(tmp_path: Path, reading: Reading) -> None:
    path = _file(tmp_path, "name,time\na,12\nb,1")
    table = read_csv(path, reading)
    assert table is not None
    assert table.rows == [["a", "12"]]
    assert read_text(path, reading) == ["name,time", "a,12"]
    assert _codes(reading) == {"last_line_cut": 2}
    whole = read_csv(path, reading, ends_open=True)
    assert whole is not None
    assert whole.rows == [["a", "12"], ["b", "1"]]
    assert read_csv(_file(tmp_path, "name,ti"), reading, ends_open=True) is not None
    assert _codes(reading) == {"last_line_cut": 3}


@pytest.mark.parametrize(
    ("content", "rows_read"),
    [
        ('"op_name,time\na,1\nb,2\nc,3\n', 3),
        ('op_name,"time\na,1\nb,2\nc,3\n', 3),
        ('op_name,time\n"a,1\nb,2\nc,3\n', 3),
        ('op_name,time\na,1\nb,"2\nc,3\n', 3),
    ],
)
def test_a_stray_quote_swallows_no_rows(tmp_path: Path, reading: Reading, content: str, rows_read: int) -> None:
    table = read_csv(_file(tmp_path, content), reading)
    assert table is not None
    assert (table.header, len(table.rows)) == (["op_name", "time"], rows_read)
    assert table.cells("time") == ["1", "2", "3"]


def test_lines_that_a_quote_does_swallow_are_counted(tmp_path: Path, reading: Reading) -> None:
    table = read_csv(_file(tmp_path, 'op_name,time\na,1\n"b,2\nc,3\nd",4,\ne,5\n'), reading)
    assert table is not None
    assert table.cells("op_name") == ["a", "e"]
    assert _codes(reading) == {"mindspore_rows_dropped": 3}


def test_between_the_two_bytes_of_a_lines_end(tmp_path: Path, reading: Reading) -> None:
    path = _file(tmp_path, "name,time\r\na,12\r")
    assert read_text(path, reading) == ["name,time"]
    assert _codes(reading) == {"last_line_cut": 1}
    assert read_text(_file(tmp_path, "name,time\ra,12\r"), reading) == ["name,time", "a,12"]
    assert _codes(reading) == {"last_line_cut": 1}
    assert read_text(_file(tmp_path, "name,time\r"), reading) == []
    assert _codes(reading) == {"last_line_cut": 2}
