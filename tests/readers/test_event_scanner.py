"""The compiled scanner finds what the json module and the decoder find, or leaves the text to them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepscope.readers.trace_json.event_batches import Heads, ScannedEvents
from stepscope.readers.trace_json.trace_event import EVENTS, FAULTS, Event

if TYPE_CHECKING:
    from stepscope.readers.trace_json import event_scanner
else:
    event_scanner = pytest.importorskip(
        "stepscope.readers.trace_json.event_scanner", reason="built without a C compiler"
    )

_WORDS = st.sampled_from(["", "a", "aten::mm", "}, {", '"', "\\", "\u00e9\u4e2d", "\n", "x" * 70])
_NUMBERS = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False))
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBERS, _WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_WORDS, inner, max_size=3)),
    max_leaves=8,
)
_ARGUMENTS = st.dictionaries(st.sampled_from(["External id", "stream", "Input Dims", "Collective name", ""]), _VALUES)
_EVENT = st.fixed_dictionaries(
    {"ph": st.sampled_from("XisftCBEM"), "pid": st.integers(0, 3)},
    optional={
        "name": _WORDS,
        "cat": _WORDS,
        "tid": st.one_of(st.integers(0, 3), _WORDS),
        "ts": st.one_of(_NUMBERS, st.just("12.0005")),
        "dur": _NUMBERS,
        "args": _ARGUMENTS,
        "id": st.one_of(st.integers(), _WORDS),
        "bp": st.just("e"),
        "unknown": _VALUES,
    },
)
_EVENTS = st.lists(_EVENT.flatmap(lambda event: st.permutations(list(event.items())).map(dict)), min_size=1, max_size=6)


def scanned(text: bytes) -> ScannedEvents | None:
    """What the scanner makes of the events between two brackets."""
    heads = Heads()
    try:
        found = event_scanner.scan(text, 1, len(text) - 1, heads)
    except FAULTS:
        return None
    return None if found is None else ScannedEvents(found, heads)


def sorts_of(events: ScannedEvents) -> list[tuple[Any, ...]]:
    seen: list[tuple[Any, ...]] = []

    def number(sort: tuple[Any, ...]) -> int:
        seen.append(sort)
        return len(seen) - 1

    return [seen[place] for place in events.sorts(number).tolist()]


def decoded(text: bytes) -> list[Event] | None:
    try:
        return EVENTS.decode(text)
    except FAULTS:
        return None


@given(events=_EVENTS, separators=st.sampled_from([(",", ":"), (", ", ": "), (" ,\n\t", " :\r\n ")]))
def test_a_scan_has_the_fields_of_each_event_as_the_json_module_has_them(
    events: list[dict[str, Any]], separators: tuple[str, str]
) -> None:
    text = json.dumps(events, separators=separators, ensure_ascii=False).encode()
    found = scanned(text)
    if found is None:
        assert any("\\" in json.dumps(key) for event in events for key in event.get("args", {}))
        return
    truth = json.loads(text)
    places = np.arange(len(truth))
    assert len(found) == len(truth)
    for event, sort, arguments, identity in zip(
        truth, sorts_of(found), found.arguments(places), found.identities(places), strict=True
    ):
        assert sort[0] == event["ph"]
        assert sort[2] == event.get("name") or (event["ph"] in "stf" and sort[2] == "")
        assert (sort[1], sort[3], sort[4]) == (event.get("cat"), event["pid"], event.get("tid"))
        assert sort[5] == (event.get("bp") == "e")
        assert (json.loads(arguments) if arguments else None) == event.get("args")
        assert (json.loads(identity) if identity else None) == event.get("id")
    assert list(found) == decoded(text)


_MICROSECONDS = st.from_regex(r"(0|[1-9][0-9]{0,14}|[1-3][0-9]{15})(\.[0-9]{1,12})?", fullmatch=True)


@given(time=_MICROSECONDS, duration=_MICROSECONDS, quoted=st.booleans())
@example("0.0005", "0.0015", False)
@example("1.00050", "1.00150", False)
@example("3999999999999999.9995", "0.00250000000001", True)
def test_times_are_exact_to_the_nanosecond_with_ties_to_even(time: str, duration: str, quoted: bool) -> None:
    mark = '"' if quoted else ""
    found = scanned(f'[{{"ph": "X", "ts": {mark}{time}{mark}, "dur": {duration}}}]'.encode())
    assert found is not None
    assert found.times().tolist() == [round(Fraction(time) * 1000)]
    assert found.durations(np.array([0])).tolist() == [round(Fraction(duration) * 1000)]


@pytest.mark.parametrize(
    ("text", "microseconds"), [("1e3", 1000), ("-2.5", Fraction(-5, 2)), ("1.5E+2", 150), ("0.1e1", 1)]
)
def test_times_that_are_not_written_plainly_are_read_as_well(text: str, microseconds: Fraction) -> None:
    found = scanned(f'[{{"ph": "X", "ts": {text}, "dur": 1}}]'.encode())
    assert found is not None
    assert found.times().tolist() == [microseconds * 1000]


@given(data=st.data(), events=_EVENTS)
def test_what_the_decoder_rejects_the_scanner_does_not_take(data: st.DataObject, events: list[dict[str, Any]]) -> None:
    text = bytearray(json.dumps(events).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(1, len(text) - 2))
        text[place] = data.draw(st.sampled_from(b'{}[],:"\\ 01.-e+ntu\x00\n\x80\xff'))
    found = scanned(bytes(text))
    if found is not None:
        assert list(found) == decoded(bytes(text))


@pytest.mark.parametrize(
    "event",
    [
        '{"ph": "X", "ts": 1, "ts": 2}',  # which of them counts is for the decoder
        '{"ph": "X", "id2": {"local": 1}}',
        '{"ph": "X", "scope": "a", "id": 1}',
        '{"ph": "X", "bind_id": 1, "flow_out": true}',
        '{"ph": "X", "sf": 1}',
        '{"ph": "X", "args": 5}',
        '{"ph": "X", "args": {"a\\u0062": 1}}',
        '{"p\\u0068": "X"}',
        '{"ph": "X", "name": "\\ud800"}',
        '{"ph": "X", "args": ' + '{"a":' * 100 + "1" + "}" * 100 + "}",
        '{"ph": 5}',
        "{}",
        "5",
        "",
    ],
)
def test_what_is_unusual_is_left_to_the_decoder(event: str) -> None:
    assert scanned(f"[{event}]".encode()) is None


@pytest.mark.parametrize(
    "value", ["01", "1.", ".5", "-", "1e", "+1", "NaN", "nul", "tru", '"\\x"', '"\\u12g4"', '"a\nb"', "[1,]", "[1 2]"]
)
def test_what_is_no_json_is_not_taken(value: str) -> None:
    assert scanned(f'[{{"ph": "X", "args": {{"a": {value}}}}}]'.encode()) is None


def test_many_sorts_of_events_do_not_stay_in_memory() -> None:
    heads = Heads()
    for number in range(40_000):
        heads[f'"ph": "X", "name": "{number}"'.encode()]
    assert len(heads.of_bounded_size()) == 0
    assert heads.of_bounded_size() is not heads


class _Codes(dict[bytes, int]):
    def __missing__(self, text: bytes) -> int:
        self[text] = len(self)
        return self[text]


@given(arguments=st.lists(_ARGUMENTS, min_size=1, max_size=5), key=st.sampled_from(["External id", "stream", ""]))
def test_arguments_are_found_by_name(arguments: list[dict[str, Any]], key: str) -> None:
    text = json.dumps([{"ph": "X", "args": each} for each in arguments], ensure_ascii=False).encode()
    found = scanned(text)
    assert found is not None
    places = np.arange(len(arguments)).tobytes()
    values = [each.get(key, "absent") for each in arguments]
    plain = [value == "absent" or (type(value) is int and len(str(abs(value))) <= 18) for value in values]
    numbers = found.scan.integers(places, key.encode())
    assert (numbers is None) == (not all(plain))
    if numbers is not None:
        expected = [found.scan.ABSENT if value == "absent" else value for value in values]
        assert np.frombuffer(numbers, np.int64).tolist() == expected
    codes = _Codes()
    texts = found.scan.texts(places, key.encode(), codes, False)
    assert texts is not None
    read = ["absent" if code < 0 else json.loads(list(codes)[code]) for code in np.frombuffer(texts, np.int64)]
    assert read == values


def test_of_two_arguments_of_one_name_the_last_counts_as_it_does_for_the_decoder() -> None:
    text = b'[{"ph": "X", "args": {"stream": 7, "a": 1, "stream": 9}}]'
    found = scanned(text)
    assert found is not None
    numbers = found.scan.integers(np.zeros(1, np.int64).tobytes(), b"stream")
    assert numbers is not None
    assert np.frombuffer(numbers, np.int64).tolist() == [9]
    assert msgspec.json.decode(found.scan.arguments[0])["stream"] == 9


@pytest.mark.parametrize("count", [1_023, 1_024, 1_025, 5_000])
def test_any_number_of_events_with_any_number_of_arguments_fits(count: int) -> None:
    events = [
        {"ph": "X", "ts": place, "id": place, "args": {f"a{number}": number for number in range(place % 40)}}
        for place in range(count)
    ]
    found = scanned(json.dumps(events).encode())
    assert found is not None
    assert found.times().tolist() == [1_000 * place for place in range(count)]
    assert [json.loads(text) for text in found.arguments(np.arange(count))] == [event["args"] for event in events]
    assert list(map(int, found.identities(np.arange(count)))) == list(range(count))
    numbers = found.scan.integers(np.arange(count).tobytes(), b"a39")
    assert numbers is not None
    assert np.flatnonzero(np.frombuffer(numbers, np.int64) == 39).tolist() == []
    numbers = found.scan.integers(np.arange(count).tobytes(), b"a38")
    assert numbers is not None
    assert np.flatnonzero(np.frombuffer(numbers, np.int64) == 38).tolist() == list(range(39, count, 40))


def test_a_place_that_does_not_exist_is_refused() -> None:
    found = scanned(b'[{"ph": "X", "args": {"a": 1}}]')
    assert found is not None
    for place in (-1, 1):
        with pytest.raises(AssertionError):
            found.scan.integers(np.array([place]).tobytes(), b"a")
        with pytest.raises(AssertionError):
            found.identities(np.array([place]))
    assert event_scanner.scan(b"[{}]", 3, 9, {}) is None


def test_words_are_told_from_null_and_from_other_values() -> None:
    def words(*values: str) -> list[int] | None:
        text = ",".join(f'{{"ph": "X", "args": {{"w": {value}}}}}' for value in values)
        found = scanned(f"[{text}]".encode())
        assert found is not None
        result = found.scan.texts(np.arange(len(values)).tobytes(), b"w", _Codes(), True)
        return None if result is None else np.frombuffer(result, np.int64).tolist()

    assert words('"a"', "null", '""', '"b"', '"a"') == [0, -1, -1, 1, 0]
    assert words('"a"', "5") is None


def test_arrows_need_no_name() -> None:
    text = b'[{"ph": "X", "name": "a"}, {"ph": "s", "id": 1}, {"ph": "f", "name": null}, {"name": "x", "ph": "t"}]'
    found = scanned(text)
    assert found is not None
    assert [sort[2] for sort in sorts_of(found)] == ["a", None, None, ""]
    assert list(found) == decoded(text)


@given(events=_EVENTS)
def test_the_same_sort_has_one_number_whatever_stands_between_its_fields(events: list[dict[str, Any]]) -> None:
    heads = Heads()
    text = json.dumps(events + events).encode()
    try:
        found = event_scanner.scan(text, 1, len(text) - 1, heads)
    except FAULTS:
        return
    if found is not None:
        columns = np.frombuffer(found.events, np.int64).reshape(len(found), -1)
        assert (columns[: len(events), 0] == columns[len(events) :, 0]).all()
