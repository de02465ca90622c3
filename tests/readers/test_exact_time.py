"""Times in text become whole nanoseconds, to the last digit."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepscope.arrays import NULL
from stepscope.readers.files.exact_time import LARGEST_NS, nanoseconds

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")


def expected(text: str) -> int:
    """By fractions, which know no precision: microseconds times 1000, rounded to the nearest, ties to even."""
    text = text[1:-1] if text.startswith('"') and text.endswith('"') else text
    if not _JSON_NUMBER.fullmatch(text):
        return NULL
    whole = round(Fraction(text) * 1000)
    return whole if abs(whole) <= LARGEST_NS else NULL


def test_digits_of_an_epoch_in_microseconds_all_survive() -> None:
    # 1736405443871466.840 lies beyond 2^50: a double would be off by up to 125 ns.
    assert nanoseconds([b"1736405443871466.840"]).tolist() == [1_736_405_443_871_466_840]
    assert round(float("1736405443871466.840") * 1000) != 1_736_405_443_871_466_840


def test_microseconds_beyond_2_to_the_53_keep_each_unit() -> None:
    texts = [b"9007199254740993", b"9007199254740992.999"]
    # 2^53 + 1 us is 9.007e18 ns, more than a time may be; half of it is not.
    assert nanoseconds(texts).tolist() == [NULL, NULL]
    assert nanoseconds([b"3007199254740993.001", b"3007199254740993"]).tolist() == [
        3_007_199_254_740_993_001,
        3_007_199_254_740_993_000,
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0.0", 0),
        ("7", 7_000),
        ("0.5", 500),
        ("1.25", 1_250),
        ("-3.001", -3_001),
        ("0.0004", 0),
        ("0.0005", 0),  # a tie goes to the even side
        ("0.0015", 2),
        ("0.0025", 2),
        ("0.00250000000000000000001", 3),  # no tie: there is more behind it
        ("0.0024999999999999999999999", 2),
        ("-0.0015", -2),
        ("1e3", 1_000_000),
        ("1.5E-3", 2),
        ("12e-4", 1),
        ('"42.125"', 42_125),
        ('"-1e2"', -100_000),
        ("4000000000000000", LARGEST_NS),
        ("4000000000000000.001", NULL),
        ("3999999999999999.9999", LARGEST_NS),
        ("-4000000000000000.001", NULL),
        ("1e400", NULL),
        ("1e999999999999", NULL),
        ("1e-999999999999", 0),
        ("", NULL),
        ("null", NULL),
        ("true", NULL),
        ("NaN", NULL),
        ("Infinity", NULL),
        ("-Infinity", NULL),
        ('"N/A"', NULL),
        ('""', NULL),
        ("[1]", NULL),
        ("{}", NULL),
        ("1.2.3", NULL),
        ("--1", NULL),
        ('"１２"', NULL),
        ('"12\\n"', NULL),
    ],
)
def test_each_kind_of_text_alone_and_among_plain_ones(text: str, value: int) -> None:
    assert nanoseconds([text.encode()]).tolist() == [value]
    assert nanoseconds([b"1.000", text.encode(), b"2.000"]).tolist() == [1_000, value, 2_000]
    assert nanoseconds([b"1", text.encode(), b"2.0001"]).tolist() == [1_000, value, 2_000]


@given(st.lists(st.integers(0, LARGEST_NS), max_size=50))
def test_three_decimals_are_read_back_exactly(values: list[int]) -> None:
    texts = [f"{value // 1000}.{value % 1000:03d}".encode() for value in values]
    assert nanoseconds(texts).tolist() == values


_decimals = st.builds(
    lambda sign, whole, digits: f"{sign}{whole}" + (f".{digits}" if digits else ""),
    st.sampled_from(["", "", "-"]),
    st.one_of(st.integers(0, 10**6), st.integers(0, 10**17)),
    st.text("0123456789", max_size=25),
)
_ties = st.builds(
    lambda whole, digits, more: f"{whole}.{digits:03d}5{more}",
    st.integers(0, 10**15),
    st.integers(0, 999),
    st.sampled_from(["", "0", "0000", "00000000000000000001"]),
)
_exponents = st.builds(
    lambda mantissa, e, power: f"{mantissa}{e}{power}", _decimals, st.sampled_from("eE"), st.integers(-30, 30)
)
_numbers = st.one_of(_decimals, _ties, _exponents)
# What a decoder of JSON hands on: any value but a number, as text.
_garbage = st.one_of(
    st.text(max_size=8).filter(lambda text: not re.search(r"\d", text)).map(json.dumps),
    st.sampled_from(["", "null", "false", "[]", '{"a": 1}', '"1,5"', '"0x10"', '"1 2"', '"12us"']),
).filter(lambda text: text.strip('" ').lower() not in ("nan", "inf", "infinity"))


@given(st.lists(st.one_of(_numbers, _numbers.map(lambda text: f'"{text}"'), _garbage), max_size=20))
@example(["0.0005", "0.0015", "2"])
@example(["3999999999999999.9995", "4000000000000000.0005"])
def test_any_mixture_equals_exact_fractions(texts: list[str]) -> None:
    assert nanoseconds([text.encode() for text in texts]).tolist() == [expected(text) for text in texts]


def test_no_texts_give_no_times() -> None:
    found = nanoseconds([])
    assert found.tolist() == []
    assert found.dtype == np.int64


def test_one_absurd_text_does_not_slow_the_others_down() -> None:
    texts = [f"{number}.125".encode() for number in range(20_000)] + [b"9" * 100_000, b"1e999999999"]
    found = nanoseconds(texts)
    assert found[:20_000].tolist() == [number * 1_000 + 125 for number in range(20_000)]
    assert found[20_000:].tolist() == [NULL, NULL]
    assert not math.isfinite(float("9" * 100_000))


@given(st.lists(st.sampled_from(["1736405443871466.840", '"12.5"', "6e-05", "-3.001", "null", "3999999999999999.9"])))
def test_odd_ones_among_many_change_nothing_for_the_others(texts: list[str]) -> None:
    assert nanoseconds([text.encode() for text in texts]).tolist() == [expected(text) for text in texts]


def of_width(width: int) -> st.SearchStrategy[str]:
    """Numbers of so many letters: the point anywhere or nowhere, a sign, an exponent, or not a number at all."""
    plain = st.integers(10 ** (width - 1), 10**width - 1).map(str)
    pointed = st.builds(
        lambda digits, place: f"{digits[:place]}.{digits[place:]}",
        st.integers(10 ** (width - 2), 10 ** (width - 1) - 1).map(str),
        st.integers(1, width - 2),
    )
    signed = st.integers(10 ** (width - 2), 10 ** (width - 1) - 1).map(lambda value: f"-{value}")
    power = st.integers(10 ** (width - 3), 10 ** (width - 2) - 1).map(lambda value: f"{value}e3")
    return st.one_of(pointed, pointed, plain, signed, power, st.just("[" + " " * (width - 2) + "]"))


@given(st.integers(5, 21).flatmap(lambda width: st.lists(of_width(width), min_size=1, max_size=12)), st.booleans())
def test_texts_of_one_width_equal_exact_fractions(texts: list[str], quoted: bool) -> None:
    texts = [f'"{text}"' for text in texts] if quoted else texts
    assert nanoseconds([text.encode() for text in texts]).tolist() == [expected(text) for text in texts]
