"""Events out of text: any layout, any block size, any end, and whatever a hostile file may hold."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stepscope.errors import UnreadableInputError
from stepscope.readers.files import raw_bytes
from stepscope.readers.trace_json import text_buffer
from stepscope.readers.trace_json.trace_event import Event
from stepscope.readers.trace_json.trace_text import TraceText, value_end
from stepscope.store.notes import Notes
from support.limits import PeakMemory, at_most
from support.traces import (
    LAYOUTS,
    Literal,
    annotation,
    compact,
    complete,
    document,
    flow,
    kernel,
    named,
    operator,
    training_steps,
    write,
)

# Events that invite wrong cuts: borders inside strings, objects inside arguments, quotes and backslashes.
TRICKY = [
    operator("a}, {b", 1_000, 10, list=[{"x": 1}, {"y": [{}, {}]}], text='"}]}, {"ph": "X"}'),
    {"name": "order", "s": "g", "ts": Literal("5"), "ph": "i", "pid": "Traces", "tid": ""},
    kernel('quote " and \\', 2_000, 5, 3),
    {},
    complete(None, "last \\\\", 3_000, 1, text="]}"),
]


def read(path: Path) -> tuple[list[Event], dict[str, Any], dict[str, int]]:
    """Events, metadata, and how often each kind of note was made."""
    notes = Notes()
    text = TraceText(path, notes)
    events = [event for batch in text.batches() for event in batch]
    codes: dict[str, int] = {}
    for note in notes.all():
        codes[note.code] = codes.get(note.code, 0) + note.count
        assert note.sentence()
    return events, text.metadata, codes


def read_text(path: Path, content: str | bytes) -> tuple[list[Event], dict[str, Any], dict[str, int]]:
    return read(write(path / "trace.json", content))


def plain(event: Event) -> dict[str, Any]:
    """An event as the json module would give it, for comparison."""
    found: dict[str, Any] = {
        key: getattr(event, key) for key in ("ph", "cat", "name", "pid", "tid") if getattr(event, key) is not None
    }
    raw = {key: bytes(getattr(event, key)) for key in ("ts", "dur", "args", "id")}
    return found | {key: json.loads(value) for key, value in raw.items() if value}


def by_json(text: str) -> list[dict[str, Any]]:
    """The events of a sound text, by the json module, with the keys that ours keeps."""
    found = json.loads(text)
    events = found["traceEvents"] if isinstance(found, dict) else found
    kept = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id")
    return [{key: event[key] for key in kept if key in event} for event in events]


def event_ends(text: str) -> list[int]:
    """Where each event of a sound text ends, found by the json module."""
    at = text.index("[", text.index('"traceEvents"')) + 1
    ends: list[int] = []
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(" \n,"))
        if text[at] == "]":
            return ends
        _, at = json.JSONDecoder().raw_decode(text, at)
        ends.append(at)


# --- sound files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_every_layout_gives_the_events_of_the_json_module(
    layout: Callable[[Any], str], zipped: bool, tmp_path: Path
) -> None:
    text = layout(document(training_steps() + TRICKY, baseTimeNanoseconds=5, record_shapes=1))
    events, metadata, codes = read(write(tmp_path / "trace.json", text, zipped=zipped))
    assert list(map(plain, events)) == by_json(text)
    assert metadata == {"schemaVersion": 1, "baseTimeNanoseconds": 5, "record_shapes": 1}
    assert codes == {}


def test_numbers_keep_their_text(tmp_path: Path) -> None:
    text = '[{"ph": "X", "ts": 1736405443871466.840, "dur": 1.50e-3, "id": "0xff", "args": {"v": 1.2300}}]'
    (event,), _, _ = read_text(tmp_path, text)
    assert bytes(event.ts) == b"1736405443871466.840"
    assert bytes(event.dur) == b"1.50e-3"
    assert bytes(event.id) == b'"0xff"'
    assert bytes(event.args) == b'{"v": 1.2300}'


def test_metadata_behind_the_events_counts_too(tmp_path: Path) -> None:
    text = '{"traceEvents": [{"ph": "M"}], "displayTimeUnit": "ms", "distributedInfo": {"rank": 3}, "list": [1, [2]]}'
    events, metadata, codes = read_text(tmp_path, text)
    assert len(events) == 1
    assert metadata == {"displayTimeUnit": "ms", "distributedInfo": {"rank": 3}, "list": [1, [2]]}
    assert codes == {}


@pytest.mark.parametrize("text", ['[{"ph": "X"}]', ' \n[ {"ph": "X"} ] \n', '\ufeff[{"ph": "X"}]'])
def test_a_bare_array_is_a_trace(text: str, tmp_path: Path) -> None:
    events, _, codes = read_text(tmp_path, text)
    assert [event.ph for event in events] == ["X"]
    assert codes == {}


def test_an_array_may_be_empty_and_events_may_be_so(tmp_path: Path) -> None:
    assert read_text(tmp_path, '{"traceEvents": []}') == ([], {}, {})
    assert read_text(tmp_path, "[{}, {}]") == ([Event(), Event()], {}, {})


def test_a_key_with_escapes_and_a_value_with_brackets_in_it(tmp_path: Path) -> None:
    text = '{"a\\"b": "]}[{", "c": {"d": "}"}, "traceEvents": [{"ph": "X"}]}'
    events, metadata, codes = read_text(tmp_path, text)
    assert [event.ph for event in events] == ["X"]
    assert list(metadata.values()) == ["]}[{", {"d": "}"}]
    assert codes == {}


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 16, 50, 64, 100, 257, 1024])
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_the_events_do_not_depend_on_where_blocks_end(
    block_bytes: int, zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = {"texts": ["]}, {[", {"a": '"}'}], "host_name": "her}e"}
    text = compact({**around, **document(TRICKY + training_steps(1) + TRICKY), "behind": around})
    path = write(tmp_path / "trace.json", text, zipped=zipped)
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", block_bytes * (16 if zipped else 1))
    events, metadata, codes = read(path)
    assert list(map(plain, events)) == by_json(text)
    assert metadata == {"schemaVersion": 1, **around, "behind": around}
    assert codes == {}


@pytest.mark.parametrize("block_bytes", [40, 64, 100, 257, 1024])
def test_damaged_events_are_mended_wherever_blocks_end(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [compact(event) for event in training_steps(1)]
    bad = '{"ph": "X", "name": "C:\\qt\\src", "pid": 1, "tid": 2, "ts": 7, "dur": NaN, "args": {"l": [{"a": 1}, {}]}}'
    texts = [text for event in good for text in (event, bad)]
    path = write(tmp_path / "trace.json", '{"traceEvents": [' + ",\n".join(texts) + "]}")
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", block_bytes)
    events, _, codes = read(path)
    assert [event.name for event in events[1::2]] == ["C:\\qt\\src"] * len(good)
    assert list(map(plain, events[::2])) == by_json("[" + ",".join(good) + "]")
    assert codes == {"event_repaired": len(good)}


def test_objects_in_arguments_at_the_end_of_a_real_block(tmp_path: Path) -> None:
    # 12 MB: the borders of the 4 MB blocks fall somewhere inside these arguments, most of which are objects.
    objects = [{"id": number} for number in range(2_000)]
    events = [complete("op", f"event {number}", number, 1, objects=objects) for number in range(300)]
    found, _, codes = read(write(tmp_path / "trace.json", compact({"traceEvents": events})))
    assert [event.name for event in found] == [event["name"] for event in events]
    assert codes == {}


# --- files that end early ---------------------------------------------------------------------------------

SMALL = [
    named("process_name", "python", pid=1),
    annotation("ProfilerStep#1", 1_000, 500_000, **{"External id": 1, "list": [{"x": 1}, {"y": "}, {"}]}),
    operator('a "quoted" \\ name', 2_000, 100),
    kernel("k", 3_000, 7, 12),
    flow("s", "fwdbwd", 4, 2_000),
]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_cut_at_every_byte_it_gives_the_whole_events_before_the_cut_and_says_so(
    layout: Callable[[Any], str], tmp_path: Path
) -> None:
    devices = [{"id": 0, "name": "GPU"}, {"id": 1, "name": "}, {"}]
    text = layout({**document(SMALL, deviceProperties=devices), "traceName": "/tmp/x.json", "more": devices, "n": 12})
    ends = event_ends(text)
    expected = by_json(text)
    begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
    path = tmp_path / "trace.json"
    for cut in range(begin + 1, len(text) + 1):
        path.write_text(text[:cut])
        events, _, codes = read(path)
        whole = sum(event_end <= cut for event_end in ends)
        assert list(map(plain, events)) == expected[:whole], f"cut at byte {cut}"
        assert ("file_truncated" in codes) == (cut < end), f"cut at byte {cut}: {codes}"


def test_a_gzip_cut_at_every_byte_gives_the_whole_events_that_can_be_unpacked(tmp_path: Path) -> None:
    text = compact(document(SMALL + training_steps(1)))
    ends = event_ends(text)
    expected = by_json(text)
    zipped = gzip.compress(text.encode(), mtime=0)
    path = tmp_path / "trace.json.gz"
    partly = 0
    for cut in range(2, len(zipped)):
        path.write_bytes(zipped[:cut])
        unpacked = zlib.decompressobj(wbits=31).decompress(zipped[:cut])
        if not unpacked.strip():
            with pytest.raises(UnreadableInputError) as caught:
                read(path)
            assert caught.value.code == "empty_file"
            continue
        events, _, codes = read(path)
        whole = sum(end <= len(unpacked) for end in ends)
        partly += 0 < whole < len(ends)
        assert list(map(plain, events)) == expected[:whole], f"cut at byte {cut}"
        assert "gzip_truncated" in codes, f"cut at byte {cut}: {codes}"
    assert partly > 100  # the cuts did fall between events


def test_a_gzip_with_damaged_bytes_keeps_what_came_before_them(tmp_path: Path) -> None:
    text = compact(document(training_steps(400)))
    zipped = gzip.compress(text.encode(), mtime=0)
    half = len(zipped) // 2
    path = tmp_path / "trace.json.gz"
    path.write_bytes(zipped[:half] + bytes(len(zipped) - half))
    events, _, codes = read(path)
    sound = len(zlib.decompressobj(wbits=31).decompress(zipped[:half]))
    whole = sum(end <= sound for end in event_ends(text))
    assert 1_000 < whole < len(events) + 1 <= len(by_json(text))
    assert list(map(plain, events[:whole])) == by_json(text)[:whole]
    assert codes.keys() & {"gzip_corrupt", "gzip_truncated", "gzip_trailing_bytes"}


def test_gzip_members_one_after_the_other_are_one_text(tmp_path: Path) -> None:
    text = compact(document(SMALL)).encode()
    path = tmp_path / "trace.json"
    path.write_bytes(b"".join(gzip.compress(text[begin : begin + 100]) for begin in range(0, len(text), 100)))
    events, _, codes = read(path)
    assert list(map(plain, events)) == by_json(text.decode())
    assert codes == {}


def test_bytes_behind_a_gzip_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(compact(document(SMALL)).encode()) + b"padding")
    events, _, codes = read(path)
    assert len(events) == len(SMALL)
    assert codes == {"gzip_trailing_bytes": 1}


@pytest.mark.parametrize("ending", ["", "]", "\n  ]", ",", ",]}", ", ]\n}", "]]}", "}"])
def test_events_are_whole_whatever_brackets_end_the_file(ending: str, tmp_path: Path) -> None:
    good = ", ".join(map(compact, SMALL))
    events, _, _ = read_text(tmp_path, '{"schemaVersion": 1, "traceEvents": [' + good + ending)
    assert list(map(plain, events)) == by_json(f"[{good}]")


def test_trailing_commas_are_no_fault(tmp_path: Path) -> None:
    events, metadata, codes = read_text(tmp_path, '{"traceEvents": [{"ph": "X"}, {"ph": "i"},], "a": 1,}')
    assert [event.ph for event in events] == ["X", "i"]
    assert metadata == {"a": 1}
    assert codes == {}


def test_concatenated_documents_are_read_one_after_the_other(tmp_path: Path) -> None:
    first, second = compact(document(SMALL, rank=1)), compact(document(training_steps(1), more=2))
    events, metadata, codes = read_text(tmp_path, first + "\n" + second + "[" + compact(SMALL[0]) + "]")
    assert list(map(plain, events)) == by_json(first) + by_json(second) + by_json(compact([SMALL[0]]))
    assert metadata == {"schemaVersion": 1, "rank": 1, "more": 2}
    assert codes == {}


def test_text_behind_the_end_is_noted(tmp_path: Path) -> None:
    events, _, codes = read_text(tmp_path, compact(document(SMALL)) + " and so on")
    assert len(events) == len(SMALL)
    assert codes == {"text_after_end": 1}


def test_elements_that_are_no_objects_are_dropped_and_counted(tmp_path: Path) -> None:
    text = '[{"ph": "X"}, 5, null, "a, {b}", [{"ph": "i"}], true, {"ph": "C"}, -1e3]'
    events, _, codes = read_text(tmp_path, text)
    assert [event.ph for event in events] == ["X", "C"]
    assert codes == {"event_dropped": 6}


def test_a_quote_in_the_metadata_does_not_hide_the_events(tmp_path: Path) -> None:
    text = '{"host_name": "my "host"", "traceEvents": [{"ph": "X"}, {"ph": "i"}], "traceName": "/tmp/"x".json"}'
    events, _, codes = read_text(tmp_path, text)
    assert [event.ph for event in events] == ["X", "i"]
    assert codes


def test_a_value_that_is_no_json_leaves_the_other_metadata_alone(tmp_path: Path) -> None:
    text = '{"a": N/A, "b": {"x": "C:\\dir"}, "c": NaN, "d": {x: 1}, "traceEvents": [{"ph": "X"}], "e": 1}'
    events, metadata, codes = read_text(tmp_path, text)
    assert [event.ph for event in events] == ["X"]
    assert metadata["b"] == {"x": "C:\\dir"}
    assert metadata["e"] == 1
    assert codes == {"metadata_dropped": 2}  # nothing can be made of a and d


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b" \n\t", "empty_file"),
        (b"\xef\xbb\xbf", "empty_file"),
        (b"hello", "not_json"),
        (b'"text"', "not_json"),
        (b"\x1f\x8b", "empty_file"),
        (b"\x00\x00\x00", "not_json"),
        (b"\x89PNG\r\n\x1a\n", "not_json"),
    ],
)
def test_what_is_no_json_is_refused(content: bytes, code: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        read_text(tmp_path, content)
    assert caught.value.code == code


@pytest.mark.parametrize("text", ["{", "{}", "[", "[]", '{"a"', '{"a":', '{"a": 1', "{1: 2}", "{]", "[}", "[[]", "{,}"])
def test_fragments_are_read_as_no_events(text: str, tmp_path: Path) -> None:
    events, _, _ = read_text(tmp_path, text)
    assert events == []


def test_a_file_that_vanishes_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        read(tmp_path / "none.json")
    assert caught.value.code == "cannot_read"


# --- hostile files ----------------------------------------------------------------------------------------

_DEEP = 100_000


@pytest.mark.parametrize("pair", ["[]", "{}"], ids=["arrays", "objects"])
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "open"])
def test_deep_nesting_anywhere_costs_neither_stack_nor_time(pair: str, closed: bool, tmp_path: Path) -> None:
    opening = "[" if pair == "[]" else '{"a":'
    deep = opening * _DEEP + "0" + (pair[1] * _DEEP if closed else "")
    with at_most(10):
        read_text(tmp_path, deep)
        read_text(tmp_path, f'{{"value": {deep}')
        read_text(tmp_path, f'[{deep}, {{"ph": "X"}}]')
        read_text(tmp_path, f'[{{"ph": "X", "args": {deep}')
        if closed:
            events, metadata, codes = read_text(
                tmp_path, f'{{"value": {deep}, "traceEvents": [{{"ph": "X"}}], "b": 1}}'
            )
            assert [event.ph for event in events] == ["X"]
            assert metadata["b"] == 1
            assert codes == {"metadata_dropped": 1}
            args = f'[{{"ph": "B"}}, {{"ph": "X", "args": {{"a": {deep}}}}}, {{"ph": "E"}}]'
            events, _, codes = read_text(tmp_path, args)
            assert [event.ph for event in events] == ["B", "E"]
            assert codes == {"event_dropped": 1}
            events, _, codes = read_text(tmp_path, f'{{"traceEvents": [{{"ph": "B"}}, {deep}, {{"ph": "E"}}]}}')
            assert [event.ph for event in events] == ["B", "E"]
            assert codes == {"event_dropped": 1}


def test_a_value_without_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_buffer, "LARGEST_VALUE_BYTES", 1 << 20)
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", 1 << 18)
    events, _, codes = read_text(tmp_path, '[{"ph": "X"}, {"ph": "X", "name": "' + "x" * (4 << 20) + '"}]')
    assert len(events) <= 1
    assert codes["value_too_long"] == 1
    events, _, codes = read_text(tmp_path, '{"traceEvents": [{"ph": "X"}], "v": [' + "1," * (4 << 20))
    assert len(events) == 1
    assert codes["value_too_long"] == 1


def test_spaces_between_events_count_for_one_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_buffer, "LARGEST_VALUE_BYTES", 1 << 20)
    monkeypatch.setattr(raw_bytes, "BLOCK_BYTES", 1 << 18)
    events, _, codes = read_text(tmp_path, '[{"ph": "X"},' + " " * (3 << 20) + '{"ph": "i"}]')
    assert events[0].ph == "X"
    assert len(events) == 2 or codes["value_too_long"] == 1


def test_spaces_between_documents_do_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "wide.json"
    path.write_bytes(b'[{"ph": "X"}]' + b"\n " * (4 << 20) + b'[{"ph": "i"}]')
    with at_most(20), PeakMemory() as memory:
        events, _, codes = read(path)
    assert [event.ph for event in events] == ["X", "i"]
    assert codes == {}
    assert memory.grown_bytes < 200 << 20


def unfolded(path: Path, parts: Iterator[bytes]) -> Path:
    """A gzip file of parts, written with the highest compression and little memory."""
    packer = zlib.compressobj(9, wbits=31)
    with path.open("wb") as file:
        for part in parts:
            file.write(packer.compress(part))
        file.write(packer.flush())
    return path


@pytest.mark.parametrize("filling", ["spaces", "events"])
def test_a_decompression_bomb_is_refused_before_it_fills_the_memory(filling: str, tmp_path: Path) -> None:
    event = b'{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},'
    part = b" " * (1 << 20) if filling == "spaces" else event * ((1 << 20) // len(event))
    path = unfolded(tmp_path / "bomb.json.gz", (b"[" if place == 0 else part for place in range(320)))
    assert path.stat().st_size < 2 << 20
    with at_most(30), PeakMemory() as memory, pytest.raises(UnreadableInputError) as caught:
        for _ in TraceText(path, Notes()).batches():
            pass
    assert caught.value.code == "decompression_bomb"
    assert memory.grown_bytes < 400 << 20


def test_many_broken_events_take_bounded_time(tmp_path: Path) -> None:
    # Each begins a text that never ends, so no brackets balance from there on.
    text = "[" + '{"ph": "X", "name": "open, "args": {}},\n' * 50_000 + "]"
    with at_most(40):
        events, _, codes = read_text(tmp_path, text)
    assert sum(codes.values()) + len(events) >= 50_000
    assert set(codes) <= {"event_repaired", "event_dropped", "file_truncated"}


@pytest.mark.parametrize(
    ("text", "at", "end"),
    [
        (b'{"a": "}"}, 7', 0, 10),
        (b"[1, [2]] ", 0, 8),
        (b'"a\\"b" ', 0, 6),
        (b"12, 3", 0, 2),
        (b"12", 0, None),  # more digits may follow
        (b'{"a": [', 0, None),
        (b'{"a": "x', 0, None),
        (b'{"a": "}', 0, None),  # a bracket in a text that has not ended
        (b'{"a": "}\\', 0, None),
        (b'{"a": "}\\"', 0, None),
        (b'{"a": "}\\\\"}', 0, 12),
        (b'"]', 0, None),
        (b"", 0, None),
    ],
)
def test_where_a_value_ends(text: bytes, at: int, end: int | None) -> None:
    assert value_end(text, at) == end


def test_the_samples_of_this_file_are_sound() -> None:
    for layout in LAYOUTS.values():
        text = layout(document(TRICKY + SMALL))
        assert by_json(text) == by_json(compact(document(TRICKY + SMALL)))
        assert all(left < right for left, right in pairwise(event_ends(text)))
