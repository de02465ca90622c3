"""Second chances for JSON with the faults that are seen in the field."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from stepscope.readers.files import repair
from stepscope.readers.trace_json.trace_event import Event
from stepscope.readers.trace_json.trace_text import TraceText
from stepscope.store.notes import Notes
from support.traces import compact, operator, write

BEFORE, AFTER = operator("before", 1_000, 10), operator("after", 5_000, 10)


def event(text: str | bytes) -> Event:
    """A repaired event; it must not be beyond repair."""
    found = repair.event(text if isinstance(text, bytes) else text.encode())
    assert found is not None
    return Event(**found)


def middle_of_three(damaged: bytes, directory: Path) -> tuple[list[Event], dict[str, int]]:
    """All events of a file whose second one is damaged, and the notes."""
    content = b'{"traceEvents": [' + b",\n ".join([compact(BEFORE).encode(), damaged, compact(AFTER).encode()]) + b"]}"
    notes = Notes()
    path = write(directory / "trace.json", content)
    events = [found for batch in TraceText(path, notes).batches() for found in batch]
    return events, {note.code: note.count for note in notes.all()}


def test_a_mended_event_keeps_what_joins_it_with_others() -> None:
    more = '"bp": "e", "id2": {"local": 1}, "scope": "s", "bind_id": 5, "flow_in": true, "sf": 3'
    found = event(r'{"ph": "f", "name": "D:\data\x", ' + more + "}")
    assert (bytes(found.bp), bytes(found.scope), bytes(found.bind_id)) == (b'"e"', b'"s"', b"5")
    assert (bytes(found.id2), bytes(found.flow_in), bytes(found.sf)) == (b'{"local":1}', b"true", b"3")


@pytest.mark.parametrize(
    ("damaged", "name"),
    [
        (rb'{"ph": "X", "name": "C:\Users\me\new.py", "ts": 3, "dur": 1}', "C:\\Users\\me\new.py"),
        (rb'{"ph": "X", "name": "D:\data\x", "ts": 3, "dur": 1}', "D:\\data\\x"),
        (b'{"ph": "X", "name": "f("a", "b")", "ts": 3, "dur": 1}', 'f("a", "b")'),
        (b'{"ph": "X", "name": "a,}", "ts": 3, "dur": 1, "args": {"x": [1, ], }, }', "a,}"),
        (b'{"ph": "X", "ts": 3, "dur": 1, "name": "say "hi""}', 'say "hi"'),
        (b'{"ph": "X", "name": "two\nlines\tand\x01more", "ts": 3, "dur": 1}', "two\nlines\tand\x01more"),
        (b'{"ph": "X", "name": "nul\x00byte", "ts": 3, "dur": 1}', "nul\0byte"),
        (b'{"ph": "X", "name": "caf\xe9", "ts": 3, "dur": 1}', "caf\ufffd"),
        (b'{"ph": "X", "name": "half \xf0\x9f\x98", "ts": 3, "dur": 1}', "half \ufffd"),
        (rb'{"ph": "X", "name": "lone \ud83d half", "ts": 3, "dur": 1}', "lone ? half"),
        (b'{"ph": "X", "name": "n", "ts": 3, "dur": 1, "args": {"v": N/A}}', "n"),
        (b'{"ph": "X", "name": "n", "ts": 3, "dur": 1, "args": {"v": NaN, "w": [-Infinity, Infinity]}}', "n"),
        (b'{"ph": "X", "name": "n", "ts": 3, "dur": 1, "args": {"l": [{"a": NaN}, {"b": 1}, {"c": 2}]}}', "n"),
        (b'{"ph": "X", "name": 17, "ts": 3, "dur": 1}', "17"),
    ],
)
def test_a_damaged_event_is_mended_and_its_neighbours_are_untouched(damaged: bytes, name: str, tmp_path: Path) -> None:
    events, codes = middle_of_three(damaged, tmp_path)
    assert [found.name for found in events] == ["before", name, "after"]
    assert (bytes(events[1].ts), bytes(events[1].dur)) == (b"3", b"1")
    assert codes == {"event_repaired": 1}


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"ph": "X", "name": "n", "ts" 3}',
        b'{"ph": "X", "name": }',
        b'{"ph": "X" "name": "n"}',
        b"{ph: X}",
        b"{'ph': 'X'}",
        b'{"ph": "X", "args": {"a": [}}',
        b'{"ph": "X", "ts": 1, "args": {"a": "open}}',
        b'{"ph": "X", "dur": 0x10}',
        b"{\xff\xfe}",
    ],
)
def test_an_event_beyond_repair_is_dropped_and_its_neighbours_are_untouched(damaged: bytes, tmp_path: Path) -> None:
    events, codes = middle_of_three(damaged, tmp_path)
    assert [found.name for found in events] == ["before", "after"]
    assert codes == {"event_dropped": 1}


def test_digits_survive_a_repair() -> None:
    mended = event('{"ph": "X", "name": "a\nb", "ts": 1736405443871466.840, "dur": 0.0000000000000000001, "id": 12}')
    assert bytes(mended.ts) == b"1736405443871466.840"
    assert float(bytes(mended.dur)) == 1e-19
    assert bytes(mended.id) == b"12"


def test_the_last_of_equal_keys_wins() -> None:
    assert event('{"ph": "X", "name": "a\n", "name": "b\n"}').name == "b\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [("7", "7"), ("1.5", "1.5"), ("true", "True"), ('["a"]', "['a']"), ('{"a": 1}', "{'a': 1}"), ("null", None)],
)
def test_names_of_another_type_become_text(value: str, text: str | None) -> None:
    mended = event(f'{{"ph": {value}, "cat": {value}, "name": {value}}}')
    assert (mended.ph, mended.cat, mended.name) == (text, text, text)


@pytest.mark.parametrize(("value", "found"), [("7", 7), ('"a"', "a"), ("1.5", "1.5"), ("[1]", "[1]"), ("null", None)])
def test_processes_and_threads_are_numbers_or_text(value: str, found: Any) -> None:
    mended = event(f'{{"ph": "X", "pid": {value}, "tid": {value}}}')
    assert (mended.pid, mended.tid) == (found, found)


@pytest.mark.parametrize("text", ["", "null", "5", "[]", '"text"', "{", '{"a"}', "{'a': 1}"])
def test_what_is_no_object_is_no_event(text: str) -> None:
    assert repair.event(text.encode()) is None


def test_lone_halves_of_characters_vanish_from_every_text() -> None:
    mended = event(r'{"ph": "X", "pid": "\ud800", "cat": "\udfff", "args": {"\ud800": ["\udc00", {"a": "\ud800"}]}}')
    assert (mended.pid, mended.cat) == ("?", "?")
    assert b"\\ud" not in bytes(mended.args).lower()
    bytes(mended.args).decode("utf-8")


def test_a_value_is_mended_too() -> None:
    assert repair.lenient(rb'{"path": "C:\dir", "n": N/A, "list": [N/A, 1]}') == {
        "path": "C:\\dir",
        "n": None,
        "list": [None, 1],
    }
    assert math.isnan(repair.lenient(b"NaN"))
    assert repair.lenient(b'"N/A is no value: N/A, here"') == "N/A is no value: N/A, here"
    assert repair.lenient(b"{") is None
    assert repair.lenient(b"[1e99999999999999999999, 1e-99999999999999999999, -0.5]") == [math.inf, 0.0, -0.5]


def test_nesting_too_deep_for_the_decoder_is_beyond_repair() -> None:
    for depth in (500, 900, 2_000, 100_000):
        text = b'{"ph": "X", "name": "a\n", "args": ' + b"[" * depth + b"]" * depth + b"}"
        found = repair.event(text)
        assert found is None or bytes(found["args"]) == b"[" * depth + b"]" * depth
