"""Interval algebra against a twin that paints every nanosecond."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.foundation.intervals import Intervals, difference, intersection, joined, union

_END = 60
_pairs = st.lists(st.tuples(st.integers(0, _END), st.integers(0, _END)), max_size=12)


def _painted(pairs: list[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    line = np.zeros(_END, bool)
    for start, end in pairs:
        line[start:end] = True
    return line


def _union(pairs: list[tuple[int, int]]) -> Intervals:
    return union(np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64))


def _line(found: Intervals) -> npt.NDArray[np.bool_]:
    return _painted(list(zip(found.start.tolist(), found.end.tolist(), strict=True)))


@given(_pairs)
def test_a_union_is_what_the_painted_line_shows(pairs: list[tuple[int, int]]) -> None:
    found = _union(pairs)
    assert (_line(found) == _painted(pairs)).all()
    assert found.length == _painted(pairs).sum()
    assert (found.start < found.end).all()
    assert (found.start[1:] > found.end[:-1]).all(), "disjoint, in order, and no two touch"


@given(_pairs, _pairs)
def test_intersection_difference_and_join(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    a, b = _union(one), _union(other)
    assert (_line(intersection(a, b)) == (_painted(one) & _painted(other))).all()
    assert (_line(difference(a, b)) == (_painted(one) & ~_painted(other))).all()
    assert (_line(joined(a, b)) == (_painted(one) | _painted(other))).all()
    assert difference(a, b).length + intersection(a, b).length == a.length


@given(_pairs, st.integers(0, _END), st.integers(0, _END))
def test_a_window_holds_what_is_painted_in_it(pairs: list[tuple[int, int]], one: int, other: int) -> None:
    start, end = min(one, other), max(one, other)
    found, line = _union(pairs), _painted(pairs)
    assert found.covered_within(np.array([start]), np.array([end])).tolist() == [line[start:end].sum()]
    assert found.clipped(start, end).length == line[start:end].sum()
    assert found.gaps(start, end).length == (~line[start:end]).sum()
    inside = found.contains(np.arange(_END))
    assert (inside == line).all()


def test_touching_is_not_overlapping_and_nothing_goes_through_a_float() -> None:
    base = 1_794_713_980_136_243_253  # a double holds this only to 256 ns
    one = union(np.array([base, base + 7]), np.array([base + 7, base + 10]))
    assert one.start.tolist() == [base]
    assert one.length == 10
    assert intersection(one, union(np.array([base + 10]), np.array([base + 11]))).length == 0
