"""A capture gives the same tables and notes whether its events are scanned into columns or decoded into objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from readers.ascend_builder import full_capture, write_rank
from stepscope.readers.files import raw_bytes
from stepscope.readers.trace_json import trace_text
from support.reading import Reading, read, rows_or_reason
from support.traces import (
    LAYOUTS,
    annotation,
    call,
    compact,
    complete,
    document,
    flow,
    kernel,
    memory,
    named,
    operator,
    training_steps,
    write,
)

Layout = Callable[[dict[str, Any]], str]

if TYPE_CHECKING:
    from stepscope.readers.trace_json import event_scanner
else:
    event_scanner = pytest.importorskip(
        "stepscope.readers.trace_json.event_scanner", reason="built without a C compiler"
    )

# What is for the scanner, for the decoder and for repair, side by side.
_MIXED = [
    *training_steps(3),
    memory(5_000, 512, 0x7F00_0000_0000, 512),
    flow("s", "fwdbwd", 1, 1_000),
    flow("f", "fwdbwd", 1, 2_000),
    {"ph": "s", "id": 2, "pid": 100, "tid": 1, "ts": 1, "cat": "fwdbwd"},
    operator("aten::mm", 3_000, 10, **{"External id": "17", "Input Dims": [[2, 3], []], "Call stack": "a;b"}),
    operator("aten::add", 4_000, 10, **{"external id": 18, "call stack": "c;d", "Input type": ["float", ""]}),
    call("cudaLaunchKernel", 4_500, 3, 99),
    kernel("ncclDevKernel_AllReduce", 5_000, 10, 99, **{"Collective name": "allreduce", "stream": 1.0}),
    annotation('\u8bad\u7ec3 \\ "quoted" }, {', 6_000, 10),
    {"ph": "X", "name": "bound", "pid": 1, "tid": 1, "ts": 7, "dur": 1, "bind_id": 5, "flow_out": True},
    {"ph": "b", "name": "pair", "pid": 1, "tid": 1, "ts": 7, "id": 5, "cat": "c", "args": {"first": 1}},
    {"ph": "e", "name": "pair", "pid": 1, "tid": 1, "ts": 9, "id": 5, "cat": "c", "args": {"last": 2}},
    {"ph": "C", "name": "count", "pid": 1, "ts": 7, "id": 3, "args": {"value": 4}},
    {"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": "8.5", "s": "g"},
    {"ph": "X", "name": "no time", "pid": 1, "tid": 1},
    complete(None, "negative", 8_000, -5),
    named("process_name", "python", pid=100),
]


# What damage may put into a text.
_PIECES = [bytes([letter]) for letter in b'{}[],:"\\ 01.-entu\x00\n\x80\xff']
_PIECES += [
    b"",
    b"null",
    b'"sf": 3, ',
    b'"id": 7, ',
    b'"ts": 1e3, ',
    b'"args": {}, ',
    b'"ph": "s", ',
    b"\\ud83d",
    b"1" * 25,
]


def read_both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Reading, Reading]:
    """The capture read with the scanner, which must have taken a part of it, and without."""
    took: list[bool] = []
    scan = event_scanner.scan

    def observed(text: bytes, begin: int, end: int, heads: dict[bytes, int]) -> object:
        found = scan(text, begin, end, heads)
        took.append(found is not None)
        return found

    monkeypatch.setattr(trace_text, "event_scanner", SimpleNamespace(scan=observed))
    scanned = read(path)
    monkeypatch.setattr(trace_text, "event_scanner", None)
    assert any(took)
    return scanned, read(path)


def assert_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scanned, decoded = read_both_ways(path, monkeypatch)
    assert scanned.tables.keys() == decoded.tables.keys()
    for name, table in decoded.tables.items():
        assert_frame_equal(scanned.tables[name], table, categorical_as_str=True)
    assert scanned.notes == decoded.notes


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("block", [300, 1_500])
def test_a_trace_of_pytorch(layout: Layout, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", block)
    path = write(tmp_path / "trace.json", layout(document([*training_steps(3), *_MIXED, *training_steps(1)])))
    assert_same(path, monkeypatch)


def test_a_generic_chrome_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", 400)
    events = [event for event in _MIXED if event.get("cat") not in ("cpu_op", "kernel", "cuda_runtime")]
    assert_same(write(tmp_path / "trace.json", json.dumps(events)), monkeypatch)


def test_an_ascend_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", 2_000)
    assert_same(write_rank(tmp_path, full_capture()), monkeypatch)


@pytest.mark.parametrize("name", ["h200_plain.json.gz", "gpt_stack.json.gz", "gpt_bf16.json.gz"])
def test_recorded_traces(name: str, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same(shared_data / "kineto" / name, monkeypatch)


@given(data=st.data())
def test_a_damaged_trace(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = bytearray(compact(document([*training_steps(2), *_MIXED])).encode())
    begin = text.index(b"traceEvents")
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(begin, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 30))] = data.draw(st.sampled_from(_PIECES))
    path = tmp_path_factory.mktemp("damaged") / "trace.json"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", data.draw(st.sampled_from([500, 2_000, 1 << 20])))
        scanned = rows_or_reason(path)
        monkeypatch.setattr(trace_text, "event_scanner", None)
        assert scanned == rows_or_reason(path)
