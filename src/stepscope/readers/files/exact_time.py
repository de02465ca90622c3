"""Decimal text of microseconds to int64 nanoseconds, without ever passing through a float.

A double near 1.7e15 us (now, as an epoch) has steps of 250 ns, so the digits themselves are read.
Digits below the nanosecond are rounded to the nearest, ties to even, as ``decimal`` does.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from stepscope.arrays import NULL, Int64s

Bytes = npt.NDArray[np.uint8]

#: Times stay below this (the year 2096 as an epoch), so that twice a time still fits 63 bits.
LARGEST_NS: Final = 4 * 10**18

_PLAIN: Final = b"0123456789.\n"
_SIMPLE: Final = re.compile(rb'("?)[0-3]?\d{1,15}(?:\.\d*)?\1')  # at most LARGEST_NS
_ZERO: Final = ord("0")
_MOST_DIGITS: Final = 16  # before the point; LARGEST_NS has 16, beginning with a 4
_POWERS: Final = 10 ** np.arange(4, dtype=np.int64)
_EXACT: Final = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_EVEN)


def nanoseconds(texts: Sequence[bytes | memoryview]) -> Int64s:
    """Exact nanoseconds of each text, a JSON number or string of microseconds; ``NULL`` where it is none or too large.

    >>> nanoseconds([b"1736405443871466.840", b'"0.5"', b"null"]).tolist()
    [1736405443871466840, 500, -9223372036854775808]
    """
    if not texts:
        return np.empty(0, np.int64)
    at_once = _same_width(texts)
    if at_once is None:
        at_once = _all_lines(_lines(texts), len(texts))
    return _with_odd_ones(texts) if at_once is None else at_once


def _same_width(texts: Sequence[bytes | memoryview]) -> Int64s | None:
    """Texts of one length with the point at one place, as the times of a trace are, digit by digit; else None."""
    if len(set(map(len, texts))) > 1:
        return None
    letters = np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), -1).T.copy()
    first = bytes(texts[0])
    if first.startswith(b'"') and first.endswith(b'"') and len(first) > 1:
        if not (letters[[0, -1]] == ord('"')).all():
            return None
        first, letters = first[1:-1], letters[1:-1]
    whole, point, decimals = first.partition(b".")
    if not 1 <= len(whole) <= _MOST_DIGITS or len(decimals) > 3:
        return None
    digits = letters - _ZERO
    if point:
        if not (letters[len(whole)] == ord(".")).all():
            return None
        digits = np.delete(digits, len(whole), axis=0)
    if (digits > 9).any() or (len(whole) == _MOST_DIGITS and (digits[0] >= 4).any()):
        return None
    total: Int64s = digits[0].astype(np.int64)
    for row in digits[1:]:
        total *= 10
        total += row
    total *= 10 ** (3 - len(decimals))
    return total


def _lines(texts: Sequence[bytes | memoryview]) -> bytes:
    return b"\n".join(texts).replace(b'"', b"") + b"\n"


def _with_odd_ones(texts: Sequence[bytes | memoryview]) -> Int64s:
    """Exponents, signs and what is no number are read one by one, all the others still at once."""
    odd = [row for row, text in enumerate(texts) if _SIMPLE.fullmatch(text) is None]
    plain = list(texts)
    for row in odd:
        plain[row] = b"0"
    times = _all_lines(_lines(plain), len(plain))
    if times is None:
        return np.fromiter(map(_nanoseconds, texts), np.int64, len(texts))
    times[odd] = [_nanoseconds(texts[row]) for row in odd]
    return times


def _all_lines(lines: bytes, count: int) -> Int64s | None:
    """Every line in one sweep, if each is digits with at most one point; else None."""
    if lines.translate(None, _PLAIN):
        return None
    text = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    if len(ends) != count:
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    # What Kineto writes: three decimals on every line.
    points: Int64s | None = ends - 4
    three_decimals = lines.count(b".") == count and bool((text[points] == ord(".")).all())
    if not three_decimals:
        points = _points(np.flatnonzero(text == ord(".")), ends)
    if points is None:
        return None
    digits = points - starts
    widest = int(digits.max())
    if digits.min() < 1 or widest > _MOST_DIGITS:
        return None
    if widest == _MOST_DIGITS and bool((text[starts[digits == _MOST_DIGITS]] >= _ZERO + 4).any()):
        return None
    if three_decimals:
        return np.fromstring(lines.replace(b".", b""), np.int64, sep="\n")
    decimals = np.maximum(ends - points - 1, 0)
    if int(decimals.max()) <= 3:
        total = np.fromstring(lines.replace(b".", b""), np.int64, sep="\n")
        total *= _POWERS[3 - decimals]
        return total
    return _padded(text, starts, points, ends, widest)


def _points(dots: Int64s, ends: Int64s) -> Int64s | None:
    """Where each line's integer part ends: at its point or its end. None if a line has two points."""
    if len(dots) == len(ends) and bool((dots < ends).all() and (dots[1:] > ends[:-1]).all()):
        return dots
    line_of_dot = np.searchsorted(ends, dots)
    if bool((np.diff(line_of_dot) == 0).any()):
        return None
    points = ends.copy()
    points[line_of_dot] = dots
    return points


def _padded(text: Bytes, starts: Int64s, points: Int64s, ends: Int64s, widest: int) -> Int64s:
    """Lines of any number of decimals: the digits are summed place by place."""
    total = np.zeros(len(ends), np.int64)
    for digit in range(-widest, 3):
        at = points + digit + (digit >= 0)
        inside = (at >= starts) & (at < ends)
        total[inside] += (text[at[inside]].astype(np.int64) - _ZERO) * 10 ** (2 - digit)
    longer = np.flatnonzero(ends - points > 4)
    below = text[points[longer] + 4]
    total[longer[below > _ZERO + 5]] += 1
    for line in longer[below == _ZERO + 5]:  # perhaps a tie
        total[line] = _nanoseconds(text[starts[line] : ends[line]].tobytes())
    return total


def _nanoseconds(text: bytes | memoryview) -> int:
    if not text:
        return NULL
    try:
        micro = decimal.Decimal(bytes(text).decode("ascii").strip(' \t\r\n"'))
        nano = _EXACT.to_integral_value(_EXACT.multiply(micro, decimal.Decimal(1000)))
        return int(nano) if nano.is_finite() and abs(nano) <= LARGEST_NS else NULL
    except (ValueError, ArithmeticError):
        return NULL
