"""Small files made to cost much: time and memory stay within what their size allows."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from stepscope.errors import UnreadableInputError
from support.limits import PeakMemory, at_most
from support.reading import read

_GOOD = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1.0,"dur":1.0}'
_PICKLE = b"\x80\x04}(X\x08\x00\x00\x00segments"
_HEADER = b"ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr"
_MB = 1 << 20


def _cost(path: Path, content: bytes, seconds: float = 60, megabytes: int = 700) -> dict[str, int]:
    path.write_bytes(content)
    with at_most(seconds), PeakMemory() as memory:
        try:
            codes = read(path).codes
        except UnreadableInputError as error:
            codes = {error.code: 1}
    assert memory.grown_bytes < megabytes * _MB
    return codes


@pytest.mark.parametrize(
    ("instruction", "what"), [(b"(", "nesting"), (b"\x94", "memo"), (b"]", "containers"), (b"N", "stack")]
)
def test_a_pickle_of_one_instruction(tmp_path: Path, instruction: bytes, what: str) -> None:
    content = gzip.compress(_PICKLE + instruction * (60 * _MB), 1)
    assert _cost(tmp_path / "a.pickle.gz", content, 20, 300) == {"snapshot_pickle_too_large": 1}, what


def test_events_of_nothing(tmp_path: Path) -> None:
    content = gzip.compress(b'{"traceEvents":[' + b"{}," * (4 * _MB // 3) + _GOOD + b"]}", 9)
    assert _cost(tmp_path / "a.json.gz", content) == {"no_step_marks": 1}


def test_much_more_than_was_written_is_a_bomb(tmp_path: Path) -> None:
    content = gzip.compress(b'{"traceEvents":[' + b" " * (40 * _MB) + _GOOD + b"]}", 9)
    assert _cost(tmp_path / "a.json.gz", content) == {"decompression_bomb": 1}


@pytest.mark.parametrize(
    "event",
    [
        b'{"ph":"X","cat":"cpu_op","name":"a" "pid":1,"tid":1,"ts":1.0,"dur":1.0},',
        b'{"ph":"X","cat":"cpu_op","name":"a","args":{"k":[},"pid":1,"ts":1.0},',
        b'{"ph":"X","cat":"cpu_op","name":"a","args":{"k":NaN},"pid":1,"tid":1,"ts":1.0,"dur":2.0},',
    ],
)
def test_broken_events_alone(tmp_path: Path, event: bytes) -> None:
    _cost(tmp_path / "a.json", b'{"traceEvents":[' + event * (3 * _MB // len(event)) + _GOOD + b"]}")


def test_broken_events_that_each_seem_to_end_far_away(tmp_path: Path) -> None:
    opened = b'{"x" 1, "y": [{}, {}, '
    count = _MB // 2 // len(opened)
    _cost(tmp_path / "a.json", b'{"traceEvents":[' + opened * count + b"]}" * count + b"," + _GOOD + b"]}")


def test_an_event_of_names_that_do_not_end(tmp_path: Path) -> None:
    content = b'{"traceEvents":[{"ph":"X","args":{' + b'"name":"x ' * (3 * _MB // 10) + b"}," + _GOOD + b"]}"
    assert _cost(tmp_path / "a.json", content)["event_dropped"] == 1


@pytest.mark.parametrize(
    "content",
    [
        _HEADER + b"," + b"x," * _MB + b"\n1,2\n",
        _HEADER + b'"x' * _MB,
        _HEADER.replace(b",", b"\r,") + b"\n1,2\n",
        _HEADER.decode().encode("utf-16") + b"\n1,2\n",
    ],
    ids=["columns", "quotes", "carriage returns", "utf-16"],
)
def test_a_header_that_is_none(tmp_path: Path, content: bytes) -> None:
    codes = _cost(tmp_path / "memscope_dump_1.csv", content)
    assert set(codes) <= {"msmemscope_no_header", "unknown_format", "recognised_not_read"}


def test_a_record_that_never_ends(tmp_path: Path) -> None:
    codes = _cost(tmp_path / "memscope_dump_1.csv", _HEADER + b'\n"' + b"x\n" * (2 * _MB))
    assert codes["msmemscope_row_dropped"] == 1
